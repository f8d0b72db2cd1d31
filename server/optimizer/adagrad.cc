#include "server/optimizer/adagrad.h"

#include <algorithm>
#include <cmath>

namespace weir::server {

void Adagrad::InitializeSlots(absl::Span<float> slots) const { std::fill(slots.begin(), slots.end(), options_.initial_accumulator); }

void Adagrad::Update(absl::Span<const RowUpdate> rows, StepScales scales) const {
  const float learning_rate = options_.learning_rate * scales.rate;
  const float epsilon = options_.epsilon;
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    float* __restrict accumulators = row.slots;
    const float* __restrict gradient = row.gradient;
    for (uint32_t i = 0; i < dim(); ++i) {
      const float g = gradient[i] * scales.gradient;
      accumulators[i] += g * g;
      weights[i] -= learning_rate * g / (std::sqrt(accumulators[i]) + epsilon);
    }
  }
}

}  // namespace weir::server
