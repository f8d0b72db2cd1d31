// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019) of one layer's weights: one step of power iteration finds a matrix of low rank that
// is near the sum of all workers' gradients, and whose factors all-reduce like any gradient.
#ifndef WEIR_COMPRESSION_LOW_RANK_LAYER_H_
#define WEIR_COMPRESSION_LOW_RANK_LAYER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/state_visitor.h"

namespace weir::compression {

// rank < rows, columns, and all above 0.
struct LowRankShape {
  uint32_t rows = 1;
  uint32_t columns = 1;
  uint32_t rank = 1;
};

// Single-threaded. A step, on every worker, with M the worker's gradient plus its residual:
//
//   ProjectRows:     P = M Q, with Q of the step before (at first, seeded numbers)       -> P is summed over the workers
//   ProjectColumns:  P <- orthonormal columns of the sum; Q = M^T P                      -> Q is summed over the workers
//   Reconstruct:     P Q^T of the sum replaces the gradient; the residual is M - P Q^T of the worker's own Q
//
// The workers' residuals add up to what the result lacks of the sum of M, as in the paper, whose residual takes the workers' mean instead;
// one's own leaves out what another worker's gradient has. Everything is plain arithmetic in a fixed order: equal sums give equal bits on
// every worker. A direction that no gradient has (P of lower rank) is left out, and starts anew from seeded numbers.
class LowRankLayer {
 public:
  // Workers of a job give the same seed.
  LowRankLayer(const LowRankShape& shape, uint64_t seed);

  // `gradient`: rows x columns. Replaces p, rank x rows, and Q, rank x columns below, lie one direction after the other. After an error,
  // which names the position of what is not finite, nothing has changed. The residual holds the gradient until Reconstruct.
  absl::Status ProjectRows(absl::Span<const float> gradient, absl::Span<float> p);
  // INVALID_ARGUMENT: the sum is not finite.
  absl::Status ProjectColumns(absl::Span<const float> p_sum, absl::Span<float> q);
  absl::Status Reconstruct(absl::Span<const float> q_sum, absl::Span<float> gradient);

  size_t p_size() const { return size_t{shape_.rank} * shape_.rows; }
  size_t q_size() const { return size_t{shape_.rank} * shape_.columns; }
  // What is remembered from step to step. REQUIRES: between steps.
  void VisitState(StateVisitor* state);
  // What was not sent yet, rows x columns.
  absl::Span<const float> residual() const { return residual_; }

 private:
  // Makes direction k of Q seeded numbers.
  void Seed(uint32_t k);

  const LowRankShape shape_;
  const uint64_t seed_;
  uint64_t seeded_ = 0;          // directions that were seeded so far
  std::vector<float> residual_;  // between ProjectRows and Reconstruct: M
  std::vector<float> p_;         // orthonormal, or zero
  std::vector<float> q_;         // the start of the next step
  std::vector<float> own_q_;     // of this step, before the sum
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_LOW_RANK_LAYER_H_
