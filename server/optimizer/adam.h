// Adam (Kingma and Ba, ICLR 2015), lazy: a row ages only when it is updated, and its bias correction counts its own updates.
//   m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
//   w -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
// Slots: t, then m and v, one for each weight. t stops counting at 2^24, where both corrections have long been 1.
#ifndef WEIR_SERVER_OPTIMIZER_ADAM_H_
#define WEIR_SERVER_OPTIMIZER_ADAM_H_

#include "server/optimizer/row_optimizer.h"

namespace weir::server {

struct AdamOptions {
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
};

class Adam : public RowOptimizer {
 public:
  Adam(uint32_t dim, AdamOptions options) : RowOptimizer(dim), options_(options) {}

  uint32_t slot_floats() const override { return 1 + 2 * dim(); }
  void InitializeSlots(absl::Span<float> slots) const override;
  void Update(absl::Span<const RowUpdate> rows, StepScales scales) const override;

 private:
  const AdamOptions options_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_OPTIMIZER_ADAM_H_
