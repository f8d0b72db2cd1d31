// Dynamic thresholds (Gupta et al., "Training Recommender Systems at Scale: Communication-Efficient Model and Data Parallelism", KDD 2021,
// Algorithms 1 and 2). Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_THRESHOLD_H_
#define WEIR_COMPRESSION_THRESHOLD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace weir::compression {

// The floor(N * sparsity)-th smallest magnitude of `values` (1-based), exactly; 0 when that rank is 0. REQUIRES: finite values, 0 <=
// sparsity < 1.
float MagnitudeThreshold(absl::Span<const float> values, double sparsity);

// The magnitude that a share of 1 - sparsity of the values would reach if they followed a Laplace law of their mean and variance (the
// paper's cheaper variant of Algorithm 2): no selection, and no promise of how many are kept. 0 for values that are all alike. REQUIRES:
// finite values, 0 <= sparsity < 1.
float LaplaceThreshold(absl::Span<const float> values, double sparsity);

// Appends to `kept` the positions, plus `offset`, of entries with |x| >= threshold and x != 0: exact zeros are never kept, so a threshold
// of 0 keeps everything that says anything.
void SelectKept(absl::Span<const float> values, float threshold, uint32_t offset, std::vector<uint32_t>* kept);

// Replaces `kept` by the positions of the `count` largest magnitudes, of equal ones those that stand first; of fewer when not as many
// differ from zero. Returns the count-th largest magnitude. REQUIRES: finite values, 1 <= count <= values.size().
float SelectLargest(absl::Span<const float> values, uint32_t count, std::vector<uint32_t>* kept);

// INVALID_ARGUMENT, naming the position: a value that is not finite.
absl::Status CheckFinite(absl::Span<const float> values);

// DCT-MP, for one sample: appends to `kept` what SelectKept selects at the sample's own MagnitudeThreshold. REQUIRES: as there.
void SelectOfSample(absl::Span<const float> sample, double sparsity, uint32_t offset, std::vector<uint32_t>* kept);

// DCT-MP: a threshold for each sample over its own entries. `ends[i]` is where sample i ends in `values`; an empty sample keeps nothing.
// Replaces `kept`. INVALID_ARGUMENT: a value that is not finite.
absl::Status SelectPerSample(absl::Span<const float> values, absl::Span<const uint32_t> ends, double sparsity, std::vector<uint32_t>* kept);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_THRESHOLD_H_
