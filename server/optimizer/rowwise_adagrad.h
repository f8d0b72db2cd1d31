// Adagrad with one accumulator a row: acc += mean(g^2); w -= learning_rate * g / (sqrt(acc) + epsilon). Slots: acc.
#ifndef WEIR_SERVER_OPTIMIZER_ROWWISE_ADAGRAD_H_
#define WEIR_SERVER_OPTIMIZER_ROWWISE_ADAGRAD_H_

#include "server/optimizer/adagrad.h"
#include "server/optimizer/row_optimizer.h"

namespace weir::server {

class RowwiseAdagrad : public RowOptimizer {
 public:
  RowwiseAdagrad(uint32_t dim, AdagradOptions options) : RowOptimizer(dim), options_(options) {}

  uint32_t slot_floats() const override { return 1; }
  void InitializeSlots(absl::Span<float> slots) const override { slots[0] = options_.initial_accumulator; }
  void Update(absl::Span<const RowUpdate> rows, StepScales scales) const override;

 private:
  const AdagradOptions options_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_OPTIMIZER_ROWWISE_ADAGRAD_H_
