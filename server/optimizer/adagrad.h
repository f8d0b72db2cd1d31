// Adagrad (Duchi, Hazan, Singer, JMLR 2011): acc += g^2; w -= learning_rate * g / (sqrt(acc) + epsilon). Slots: acc, one for each weight.
#ifndef WEIR_SERVER_OPTIMIZER_ADAGRAD_H_
#define WEIR_SERVER_OPTIMIZER_ADAGRAD_H_

#include "server/optimizer/row_optimizer.h"

namespace weir::server {

struct AdagradOptions {
  float learning_rate = 0;
  float epsilon = 0;
  float initial_accumulator = 0;
};

class Adagrad : public RowOptimizer {
 public:
  Adagrad(uint32_t dim, AdagradOptions options) : RowOptimizer(dim), options_(options) {}

  uint32_t slot_floats() const override { return dim(); }
  void InitializeSlots(absl::Span<float> slots) const override;
  void Update(absl::Span<const RowUpdate> rows, StepScales scales) const override;

 private:
  const AdagradOptions options_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_OPTIMIZER_ADAGRAD_H_
