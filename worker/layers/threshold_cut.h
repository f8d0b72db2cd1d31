// A place between two layers where the model could be split between machines: what would cross it is thresholded (DCT-MP: Gupta et al.,
// "Training Recommender Systems at Scale: Communication-Efficient Model and Data Parallelism", KDD 2021, Algorithm 2), in process.
#ifndef WEIR_WORKER_LAYERS_THRESHOLD_CUT_H_
#define WEIR_WORKER_LAYERS_THRESHOLD_CUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/state_visitor.h"
#include "proto/job.pb.h"
#include "worker/matrix.h"

namespace weir::worker {

// By the cut's method:
//
//   exact: each sample keeps what reaches its floor(columns * sparsity)-th smallest magnitude, never exact zeros. The gradient goes back
//   through the same entries: the activations are those of a ReLU, and what was set to zero has none.
//
//   laplace: one threshold for the rows of a Forward, from their mean and variance (compression/threshold.h LaplaceThreshold). While
//   evaluating, the last one of training.
//
//   gaussian_sketch, a control: x S^T S / m with S of m = (1 - sparsity) * columns rows of independent normal numbers; the gradient goes
//   back as if nothing had happened.
//
//   gradient_topk, a control: activations cross whole; of each sample's gradient the largest go back, the others are added to the gradient
//   of the sample in the same place of the next batch (error feedback).
//
// The paper has the two controls to show what not to do. Rows with NaN or infinity cross whole, so that a diverged model shows.
// Single-threaded.
class ThresholdCut {
 public:
  // cut: validated, all fields set. S is drawn as a pure function of the seed.
  ThresholdCut(const Cut& cut, size_t columns, uint64_t seed);

  // Rows that Forward will name.
  void Reserve(size_t batch);
  void SetTraining(bool training) { training_ = training; }

  // Thresholds, in place, the activations of samples [first, first + values.rows) of the batch: the output of a ReLU.
  void Forward(size_t first, Matrix activations);
  // Of the same rows: turns the gradient of what Forward left into that of what it was given, but for exact and laplace, whose zeros do
  // that in the ReLU. Returns the output by which the ReLU goes back: `activations` are what Forward left.
  ConstMatrix Backward(size_t first, ConstMatrix activations, Matrix gradient);

  // What is remembered from batch to batch.
  void VisitState(StateVisitor* state);

  // Numbers that crossed forward in training since the last call, and how many of them were kept.
  struct Count {
    uint64_t entries = 0;
    uint64_t kept = 0;
  };
  Count TakeCount();

 private:
  void Keep(Matrix values, absl::Span<const float> row_thresholds);
  void Sketch(size_t first, Matrix activations);

  const Cut cut_;
  const size_t columns_;
  bool training_ = true;
  float laplace_threshold_ = 0;
  Count count_;
  std::vector<float> sketch_;     // S; m x columns
  std::vector<float> kept_back_;  // of the batch: activations as given (sketch), or what gradients have left to be sent
  std::vector<float> scratch_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_LAYERS_THRESHOLD_CUT_H_
