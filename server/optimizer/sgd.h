// w -= learning_rate * g. No state.
#ifndef WEIR_SERVER_OPTIMIZER_SGD_H_
#define WEIR_SERVER_OPTIMIZER_SGD_H_

#include "server/optimizer/row_optimizer.h"

namespace weir::server {

class Sgd : public RowOptimizer {
 public:
  Sgd(uint32_t dim, float learning_rate) : RowOptimizer(dim), learning_rate_(learning_rate) {}

  uint32_t slot_floats() const override { return 0; }
  void InitializeSlots(absl::Span<float> slots) const override {}
  void Update(absl::Span<const RowUpdate> rows, StepScales scales) const override;

 private:
  const float learning_rate_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_OPTIMIZER_SGD_H_
