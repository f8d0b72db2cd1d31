// Deep gradient compression (Lin, Han, Mao, Wang, Dally, ICLR 2018) of one dense layer: momentum before the selection.
#ifndef WEIR_COMPRESSION_DGC_LAYER_H_
#define WEIR_COMPRESSION_DGC_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compression/frame.h"
#include "compression/kept_entries.h"
#include "compression/layer_codec.h"

namespace weir::compression {

struct DgcOptions {
  double sparsity = 0.999;  // share of entries dropped, [0, 1)
  ValueType values = ValueType::kFp32;
  double momentum = 0.9;      // [0, 1)
  double clip_norm = 0;       // see Clipping; 0: none
  uint64_t warmup_steps = 0;  // see Warm-up
  uint32_t workers = 1;
};

// Single-threaded. Each step, with g the worker's gradient, clipped:
//
//   u <- momentum * u + g;  v <- v + u;  the k = (1 - sparsity) * size largest |v| are sent;  where sent, v and u become 0
//
// So what was held back arrives with the momentum that it would have had, and what was sent is not driven on by a stale velocity. The model
// takes the sums by plain SGD: no momentum there. Gradients and with them u and v are sums over samples, not means (the paper's are means):
// as long as steps have equally many samples, both give the same model. A layer smaller than min_elements, and every layer with sparsity
// 0, travels whole: momentum SGD with the velocity kept here, nothing is cleared.
//
// Clipping: the paper bounds the norm of a worker's share of the mean gradient by threshold / sqrt(workers), so that shares that agree by
// chance only add up to about the threshold (shares that point the same way reach sqrt(workers) times it). Here a share is g / (workers *
// samples): g is scaled to the norm clip_norm * sqrt(workers) * samples when it is longer, before it enters u.
//
// Warm-up: over the first warmup_steps, in four equal parts, the density is a quarter, a 16th, a 64th and a 256th (sparsity 75, 93.75,
// 98.4375, 99.6 %), but never below its final value.
class DgcLayer final : public LayerCodec {
 public:
  DgcLayer(uint32_t size, uint32_t min_elements, DgcOptions options);

  // u and v advance with Commit and Rollback; after a rollback they hold the step's gradient, and nothing is cleared.
  absl::Status Encode(absl::Span<const float> gradient, uint32_t samples, absl::Span<const uint32_t> slice_ends,
                      std::vector<std::string>* frames) override;
  void Commit() override;
  void Rollback() override;
  // Over the warm-up's density as well. All of a layer may travel so; its velocity is cleared all the same.
  void SetDensityFactor(double factor) override { density_factor_ = factor; }
  void VisitState(StateVisitor* state) override;
  DctStats stats() const override { return stats_; }

  absl::Span<const float> residual() const override { return residual_; }  // v
  absl::Span<const float> velocity() const { return velocity_; }           // u

  // The share dropped in the step with this number, from 0, by the settings.
  double SparsityAt(uint64_t step) const;

 private:
  // By what a gradient is multiplied before it is taken.
  float ClipFactor(double norm, uint32_t samples) const;

  const DgcOptions options_;
  const bool whole_;
  double density_factor_ = 1;
  uint64_t step_ = 0;
  std::vector<float> velocity_;
  std::vector<float> residual_;
  bool pending_ = false;  // an encoding is not settled yet; the next two are what it makes of the two above
  std::vector<float> next_velocity_;
  std::vector<float> corrected_;
  KeptEntries kept_;
  DctStats stats_;
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_DGC_LAYER_H_
