#include "worker/layers/linear.h"

namespace weir::worker {

Linear::Linear(Shape shape, absl::Span<float> parameters, absl::Span<float> gradients)
    : shape_(shape),
      weights_(parameters.data(), shape.outputs, shape.inputs, shape.inputs),
      bias_(parameters.subspan(shape.weight_count())),
      weight_gradients_{gradients.data(), shape.outputs, shape.inputs, shape.inputs},
      bias_gradients_(gradients.subspan(shape.weight_count())) {}

void Linear::Forward(ConstMatrix input, Matrix output) const {
  Multiply(Product::kABt, input, weights_, Into::kOverwrite, output);
  AddBias(shape_.activation, bias_, output);
}

void Linear::Backward(const LayerBackward& pass) const {
  BiasBackward(shape_.activation, pass.output, pass.output_gradient, bias_gradients_);
  Multiply(Product::kAtB, pass.output_gradient, pass.input, Into::kAdd, weight_gradients_);
  if (pass.input_gradient.data != nullptr) Multiply(Product::kAB, pass.output_gradient, weights_, Into::kOverwrite, pass.input_gradient);
}

}  // namespace weir::worker
