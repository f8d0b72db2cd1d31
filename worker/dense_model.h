// The dense part of a model: everything that is not an embedding.
#ifndef WEIR_WORKER_DENSE_MODEL_H_
#define WEIR_WORKER_DENSE_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/state_visitor.h"
#include "client/embedding_bags.h"
#include "proto/job.pb.h"
#include "proto/job_tables.h"
#include "proto/step_scales.h"

namespace weir::worker {

// A layer's part of the flat parameter vector: weights, row by row, then bias. The unit that a dense codec works on.
struct ParameterSlice {
  std::string name;  // "bottom.0"
  uint32_t offset = 0;
  uint32_t size = 0;
  uint32_t rows = 0;  // of the weights: outputs
  uint32_t columns = 0;
};

// Single-threaded. Memory for activations is taken at the largest batch seen and kept.
class DenseModel {
 public:
  virtual ~DenseModel() = default;

  // logits[i] of each sample. dense: samples x dense_features; pooled: samples x sparse_features x dim. The inputs must stay
  // unchanged until Backward. A batch of 0 samples is legal.
  virtual void Forward(uint32_t samples, absl::Span<const float> dense, absl::Span<const float> pooled, absl::Span<float> logits) = 0;

  // Of the last Forward, in two halves, so that who pushes d loss / d pooled need not wait for what is below: the first is given
  // d loss / d logits and writes d loss / d pooled, the second does the rest. Together they replace gradients() with the sums over the
  // samples, from the end of gradients() to its beginning. Between them nothing else may be called.
  virtual void BackwardToPooled(absl::Span<const float> logit_gradient, absl::Span<float> pooled_gradient) = 0;
  virtual void FinishBackward() = 0;
  void Backward(absl::Span<const float> logit_gradient, absl::Span<float> pooled_gradient) {
    BackwardToPooled(logit_gradient, pooled_gradient);
    FinishBackward();
  }

  // Told by both halves, whenever a layer's gradients are there: all from `offset` on are final. The last time, of every Backward, with 0.
  using GradientsReady = std::function<void(uint32_t offset)>;
  void OnGradientsReady(GradientsReady listener) { gradients_ready_ = std::move(listener); }

  virtual absl::Span<float> parameters() = 0;
  virtual absl::Span<float> gradients() = 0;
  virtual const std::vector<ParameterSlice>& layers() const = 0;

  // Training, as at first, or evaluation: what a layer remembers of batches stays as it is.
  virtual void SetTraining(bool training) { static_cast<void>(training); }
  // Parameters, and what layers remember from batch to batch.
  virtual void VisitState(StateVisitor* state) = 0;
  // What crossed the cuts (model.cuts) since the last call, named by their layers.
  virtual std::vector<client::CodecStats> TakeStats() { return {}; }

 protected:
  void TellGradientsReady(uint32_t offset) const {
    if (gradients_ready_ != nullptr) gradients_ready_(offset);
  }

 private:
  GradientsReady gradients_ready_;
};

// Parameters are drawn as a pure function of the seed (weights normal with variance 2 / (in + out), bias normal with variance 1 / out, as
// Facebook's DLRM does). INVALID_ARGUMENT: widths that do not fit together, or more parameters than kFrameEntriesMax.
absl::StatusOr<std::unique_ptr<DenseModel>> CreateDenseModel(const Model& model, const DataSchema& schema, uint32_t dim, uint64_t seed);

// Updates parameters by gradients that are sums over a step's samples, at the step's scales. Single-threaded.
class DenseOptimizer {
 public:
  virtual ~DenseOptimizer() = default;
  virtual void Update(absl::Span<float> parameters, absl::Span<const float> gradients, StepScales scales) = 0;
  // What it remembers from step to step.
  virtual void VisitState(StateVisitor* state) { static_cast<void>(state); }
  // With all it remembers, to see what an update would do.
  virtual std::unique_ptr<DenseOptimizer> Clone() const = 0;
};

// config: validated, defaults set. INVALID_ARGUMENT: a type that dense layers cannot have.
absl::StatusOr<std::unique_ptr<DenseOptimizer>> CreateDenseOptimizer(const Optimizer& config, size_t size);

}  // namespace weir::worker

#endif  // WEIR_WORKER_DENSE_MODEL_H_
