#include "server/optimizer/adam.h"

#include <algorithm>
#include <cmath>

namespace weir::server {

void Adam::InitializeSlots(absl::Span<float> slots) const { std::fill(slots.begin(), slots.end(), 0.0f); }

void Adam::Update(absl::Span<const RowUpdate> rows, StepScales scales) const {
  const float beta1 = static_cast<float>(options_.beta1);
  const float beta2 = static_cast<float>(options_.beta2);
  const float rest1 = static_cast<float>(1 - options_.beta1);
  const float rest2 = static_cast<float>(1 - options_.beta2);
  const float epsilon = static_cast<float>(options_.epsilon);
  for (const RowUpdate& row : rows) {
    const float updates = row.slots[0] + 1;
    row.slots[0] = updates;
    const float rate = static_cast<float>(options_.learning_rate * scales.rate / (1 - std::pow(options_.beta1, updates)));
    const float deviation_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, updates)));
    float* __restrict weights = row.weights;
    float* __restrict means = row.slots + 1;
    float* __restrict squares = row.slots + 1 + dim();
    const float* __restrict gradient = row.gradient;
    for (uint32_t i = 0; i < dim(); ++i) {
      const float g = gradient[i] * scales.gradient;
      means[i] = beta1 * means[i] + rest1 * g;
      squares[i] = beta2 * squares[i] + rest2 * g * g;
      weights[i] -= rate * means[i] / (std::sqrt(squares[i]) * deviation_scale + epsilon);
    }
  }
}

}  // namespace weir::server
