// DLRM (Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation Systems", 2019).
#ifndef WEIR_WORKER_DLRM_H_
#define WEIR_WORKER_DLRM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hwy/aligned_allocator.h"
#include "proto/job.pb.h"
#include "proto/job_tables.h"
#include "worker/dense_model.h"
#include "worker/layers/dot_interaction.h"
#include "worker/layers/mlp.h"
#include "worker/matrix.h"

namespace weir::worker {

// dense -> bottom MLP (ReLU after every layer) -> interaction with the pooled vectors -> top MLP (no activation after the last: its output
// is the logit). Samples go through the model in blocks, forward and backward, so that a block's activations stay in the core's cache:
// forward through all of it, backward through top and interaction first, then through the bottom.
class Dlrm final : public DenseModel {
 public:
  // INVALID_ARGUMENT: widths that do not fit together.
  static absl::StatusOr<std::unique_ptr<Dlrm>> Create(const Model& model, const DataSchema& schema, uint32_t dim, uint64_t seed);

  void Forward(uint32_t samples, absl::Span<const float> dense, absl::Span<const float> pooled, absl::Span<float> logits) override;
  void BackwardToPooled(absl::Span<const float> logit_gradient, absl::Span<float> pooled_gradient) override;
  void FinishBackward() override;
  absl::Span<float> parameters() override { return {parameters_.get(), parameter_count_}; }
  absl::Span<float> gradients() override { return {gradients_.get(), parameter_count_}; }
  const std::vector<ParameterSlice>& layers() const override { return slices_; }
  void SetTraining(bool training) override;
  void VisitState(StateVisitor* state) override;
  std::vector<client::CodecStats> TakeStats() override;

 private:
  struct Shape {
    size_t dense_features = 0;
    DotInteraction::Shape interaction;
    std::vector<Linear::Shape> bottom;
    std::vector<Linear::Shape> top;

    size_t bottom_parameter_count() const;
    size_t parameter_count() const;
  };
  explicit Dlrm(const Shape& shape);
  void AddSlices(absl::string_view prefix, absl::Span<const Linear::Shape> layers);
  absl::Status AddCuts(const Model& model, uint64_t seed);
  void SetInitialParameters(uint64_t seed);
  void Reserve(size_t samples);
  // The bottom MLP's output lies in the first `dim` columns of the interaction's.
  Matrix BottomPart(Matrix interaction) const;
  // work(first, count, layer_done) for each block of the last Forward. layer_done(i) is for layer i of slices_: after the last block its
  // gradients are final.
  template <typename Work>
  void ForEachBlockBackward(Work work);

  Shape shape_;
  size_t parameter_count_;
  std::vector<ParameterSlice> slices_;
  hwy::AlignedFreeUniquePtr<float[]> parameters_;
  hwy::AlignedFreeUniquePtr<float[]> gradients_;
  struct NamedCut {
    std::string after;
    double sparsity = 0;
    std::unique_ptr<ThresholdCut> cut;
  };
  std::vector<NamedCut> cuts_;
  Mlp bottom_;
  DotInteraction interaction_;
  Mlp top_;

  MatrixBuffer interacted_;            // of the batch
  MatrixBuffer interacted_gradient_;   // of a block
  MatrixBuffer bottom_gradient_;       // of the batch: of the bottom MLP's output
  std::vector<float> logit_gradient_;  // of a block
  ConstMatrix dense_;                  // the caller's, of the last Forward
  ConstMatrix pooled_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_DLRM_H_
