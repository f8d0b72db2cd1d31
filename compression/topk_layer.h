// top-k with error feedback (Stich, Cordonnier, Jaggi, "Sparsified SGD with Memory", NeurIPS 2018): exactly the k largest of a layer.
#ifndef WEIR_COMPRESSION_TOPK_LAYER_H_
#define WEIR_COMPRESSION_TOPK_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compression/frame.h"
#include "compression/kept_entries.h"
#include "compression/layer_codec.h"

namespace weir::compression {

struct TopkOptions {
  double sparsity = 0.99;  // share of entries dropped, [0, 1)
  ValueType values = ValueType::kFp32;
};

// How many of `size` entries are kept: (1 - sparsity) * size, rounded, at least one.
uint32_t CountKept(uint32_t size, double sparsity);

// Single-threaded. Where DctLayer keeps a threshold for many steps and lets the count float, this selects anew each step: as many entries
// every time, for the price of a selection. Of equal magnitudes the ones that stand first are sent. The residual holds what was not sent,
// what rounding to the value type loses and what is beyond its range; exact zeros are never sent.
class TopkLayer final : public LayerCodec {
 public:
  // A layer smaller than min_elements travels whole.
  TopkLayer(uint32_t size, uint32_t min_elements, TopkOptions options);

  absl::Status Encode(absl::Span<const float> gradient, uint32_t samples, absl::Span<const uint32_t> slice_ends,
                      std::vector<std::string>* frames) override;
  void Commit() override;
  void Rollback() override;
  void SetDensityFactor(double factor) override;
  void VisitState(StateVisitor* state) override;
  DctStats stats() const override { return stats_; }
  absl::Span<const float> residual() const override { return residual_; }

 private:
  const double sparsity_;
  uint32_t count_;  // entries kept
  const ValueType values_;
  std::vector<float> residual_;
  bool pending_ = false;          // an encoding is not settled yet
  std::vector<float> corrected_;  // its gradient + residual, less what was sent: the residual that Commit makes valid
  KeptEntries kept_;              // what Rollback puts back
  DctStats stats_;
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_TOPK_LAYER_H_
