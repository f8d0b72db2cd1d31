#include "server/optimizer/sgd.h"

namespace weir::server {

void Sgd::Update(absl::Span<const RowUpdate> rows, StepScales scales) const {
  const float learning_rate = learning_rate_ * scales.rate;
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    const float* __restrict gradient = row.gradient;
    for (uint32_t i = 0; i < dim(); ++i) weights[i] -= learning_rate * (gradient[i] * scales.gradient);
  }
}

}  // namespace weir::server
