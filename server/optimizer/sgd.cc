#include "server/optimizer/sgd.h"

namespace weir::server {

void Sgd::Update(absl::Span<const RowUpdate> rows, float scale) const {
  for (const RowUpdate& row : rows) {
    float* __restrict weights = row.weights;
    const float* __restrict gradient = row.gradient;
    for (uint32_t i = 0; i < dim(); ++i) weights[i] -= learning_rate_ * (gradient[i] * scale);
  }
}

}  // namespace weir::server
