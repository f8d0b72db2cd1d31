// A fully connected layer with its activation: output = activation(input * weights^T + bias).
#ifndef WEIR_WORKER_LAYERS_LINEAR_H_
#define WEIR_WORKER_LAYERS_LINEAR_H_

#include <cstddef>

#include "absl/types/span.h"
#include "worker/layers/bias_relu.h"
#include "worker/matrix.h"

namespace weir::worker {

// What a layer's backward pass reads and writes, the rows of some samples. `input` and `output` are as they were after Forward.
struct LayerBackward {
  ConstMatrix input;
  ConstMatrix output;
  Matrix output_gradient;  // destroyed: the layer works in it
  Matrix input_gradient;   // overwritten; left alone when data is null
};

// Parameters of a layer: weights (outputs x inputs, row-major), then bias. Owns nothing. Single-threaded.
class Linear {
 public:
  struct Shape {
    size_t inputs = 0;
    size_t outputs = 0;
    Activation activation = Activation::kNone;

    size_t weight_count() const { return inputs * outputs; }
    size_t parameter_count() const { return weight_count() + outputs; }
  };

  // Both spans have shape.parameter_count() numbers and outlive the layer.
  Linear(Shape shape, absl::Span<float> parameters, absl::Span<float> gradients);

  const Shape& shape() const { return shape_; }
  void Forward(ConstMatrix input, Matrix output) const;
  // Adds the sums over the rows to the gradients.
  void Backward(const LayerBackward& pass) const;

 private:
  Shape shape_;
  ConstMatrix weights_;
  absl::Span<const float> bias_;
  Matrix weight_gradients_;
  absl::Span<float> bias_gradients_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_LAYERS_LINEAR_H_
