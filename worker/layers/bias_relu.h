// The passes over activations that stand between matrix products, fused: bias and ReLU forward, ReLU and bias gradient backward.
// Vectorised with run-time dispatch. NaN passes through, so that a diverged model shows.
#ifndef WEIR_WORKER_LAYERS_BIAS_RELU_H_
#define WEIR_WORKER_LAYERS_BIAS_RELU_H_

#include "absl/types/span.h"
#include "worker/matrix.h"

namespace weir::worker {

enum class Activation {
  kNone,
  kRelu,
};

// values = activation(values + bias), bias the same for every row. bias.size() == values.columns.
void AddBias(Activation activation, absl::Span<const float> bias, Matrix values);

// Given what AddBias left in `output` and the gradient of it: replaces `gradient` by the gradient before the activation, and adds its sum
// over the rows to bias_gradient. `output` is not read for kNone.
void BiasBackward(Activation activation, ConstMatrix output, Matrix gradient, absl::Span<float> bias_gradient);

}  // namespace weir::worker

#endif  // WEIR_WORKER_LAYERS_BIAS_RELU_H_
