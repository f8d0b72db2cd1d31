// One optimizer step over flat vectors. Vectorised with run-time dispatch; every span has the same size. g is gradient * scale.
#ifndef WEIR_WORKER_DENSE_UPDATE_H_
#define WEIR_WORKER_DENSE_UPDATE_H_

#include "absl/types/span.h"

namespace weir::worker {

// w -= rate * gradient.
void UpdateSgd(float rate, absl::Span<const float> gradients, absl::Span<float> parameters);

struct AdagradRates {
  float scale = 1;
  float learning_rate = 0;
  float epsilon = 0;
};
// accumulator += g^2; w -= learning_rate * g / (sqrt(accumulator) + epsilon).
void UpdateAdagrad(const AdagradRates& rates, absl::Span<const float> gradients, absl::Span<float> accumulator,
                   absl::Span<float> parameters);

struct AdamRates {
  float scale = 1;
  float beta1 = 0;
  float beta2 = 0;
  float step_size = 0;   // learning rate / (1 - beta1^t)
  float root_scale = 0;  // 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
};
struct AdamMoments {
  absl::Span<float> mean;
  absl::Span<float> square;
};
// mean and square move to g and g^2 by 1 - beta1 and 1 - beta2; w -= step_size * mean / (sqrt(square) * root_scale + epsilon), as PyTorch
// does.
void UpdateAdam(const AdamRates& rates, absl::Span<const float> gradients, AdamMoments moments, absl::Span<float> parameters);

}  // namespace weir::worker

#endif  // WEIR_WORKER_DENSE_UPDATE_H_
