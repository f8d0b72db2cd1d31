#include "server/optimizer/rowwise_adagrad.h"

#include <cmath>

namespace weir::server {
namespace {

// Four sums side by side: the compiler may not reorder one float sum into a vector by itself.
float MeanSquare(const float* values, uint32_t count) {
  float sums[4] = {0, 0, 0, 0};
  uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (uint32_t lane = 0; lane < 4; ++lane) sums[lane] += values[i + lane] * values[i + lane];
  }
  for (; i < count; ++i) sums[0] += values[i] * values[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<float>(count);
}

}  // namespace

void RowwiseAdagrad::Update(absl::Span<const RowUpdate> rows, StepScales scales) const {
  const float scale = scales.gradient;
  const float learning_rate = options_.learning_rate * scales.rate;
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    const float* __restrict gradient = row.gradient;
    const float accumulator = *row.slots + MeanSquare(gradient, dim()) * scale * scale;
    *row.slots = accumulator;
    const float rate = learning_rate * scale / (std::sqrt(accumulator) + options_.epsilon);
    for (uint32_t i = 0; i < dim(); ++i) weights[i] -= rate * gradient[i];
  }
}

}  // namespace weir::server
