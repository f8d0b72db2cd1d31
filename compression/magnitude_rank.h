// Selects among the magnitudes of few values, as a sample or a small layer has them.
#ifndef WEIR_COMPRESSION_MAGNITUDE_RANK_H_
#define WEIR_COMPRESSION_MAGNITUDE_RANK_H_

#include <cstdint>

#include "absl/types/span.h"

namespace weir::compression {

// Bits of the rank-th smallest magnitude (1-based). Counts how many reach a guess, which is vector work in the first-level cache, and moves
// the guess until few candidates are left: no bins to clear, and no branch on a value. `max_bits`: MaxMagnitudeBits of the values.
// REQUIRES: 1 <= rank <= values.size(), finite values. Exact; thread-safe.
uint32_t MagnitudeOfRank(absl::Span<const float> values, uint32_t rank, uint32_t max_bits);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_MAGNITUDE_RANK_H_
