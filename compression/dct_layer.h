// DCT-DP (KDD 2021, Algorithm 1): the dynamic threshold of one dense layer, with its residual.
#ifndef WEIR_COMPRESSION_DCT_LAYER_H_
#define WEIR_COMPRESSION_DCT_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/state_visitor.h"
#include "compression/frame.h"
#include "compression/kept_entries.h"

namespace weir::compression {

struct DctOptions {
  double sparsity = 0.99;         // share of entries dropped, [0, 1)
  uint32_t refresh_every = 1000;  // steps a threshold lives: the paper's L
  ValueType values = ValueType::kFp32;
};

// What one encoding did.
struct DctStats {
  uint64_t entries = 0;
  uint64_t kept = 0;
  double threshold = 0;
  double residual_norm = 0;  // L2, as it is when the encoding is committed; DctRows: of the rows of this call
  double gradient_norm = 0;  // L2 of the gradient as given
  double density_asked = 0;  // 1 - sparsity; 0: the codec selects nothing
};

// A sparsity whose density is `factor`, at least 1, times as large, but never above 1. A factor of 1 gives the same bits.
double RelaxedSparsity(double sparsity, double factor);

// Single-threaded: one owner, one call at a time.
class DctLayer {
 public:
  // size: entries of the layer; a layer smaller than min_elements travels whole (sparsity 0).
  DctLayer(uint32_t size, uint32_t min_elements, DctOptions options);

  // Adds the residual to `gradient` and encodes what passes the threshold as one frame for each slice, which replace `frames`: slice i ends
  // at slice_ends[i], the last end is the layer's size. Call k = 0, refresh_every, ... renews the threshold. The residual changes only with
  // Commit or Rollback, one of which must follow. The residual also gets what rounding to the value type loses and what is beyond its
  // range; exact zeros are never kept, so a negative zero arrives as zero. INVALID_ARGUMENT, naming the position, when the gradient is not
  // finite; then nothing has changed and neither may follow. FAILED_PRECONDITION when neither followed the call before.
  absl::Status Encode(absl::Span<const float> gradient, absl::Span<const uint32_t> slice_ends, std::vector<std::string>* frames);
  // The frames were acknowledged: what they carry leaves the residual.
  void Commit();
  // They were given up: all of it stays in the residual.
  void Rollback();

  // From the next encoding on, which renews the threshold: factor (at least 1) times the density of the options.
  void SetDensityFactor(double factor);

  // What is remembered from step to step. REQUIRES: no encoding is pending.
  void VisitState(StateVisitor* state);

  const DctStats& stats() const { return stats_; }
  // What was not sent yet, one for each entry.
  absl::Span<const float> residual() const { return residual_; }

 private:
  const DctOptions options_;
  const bool whole_;
  double sparsity_;
  uint64_t step_ = 0;
  bool renew_ = false;  // the threshold, whatever the step
  float threshold_ = 0;
  std::vector<float> residual_;
  bool pending_ = false;          // an encoding is not settled yet
  std::vector<float> corrected_;  // its gradient + residual, less what was sent: the residual that Commit makes valid
  KeptEntries kept_;              // what Rollback puts back
  DctStats stats_;
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_DCT_LAYER_H_
