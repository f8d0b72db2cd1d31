#include "worker/layers/mlp.h"

namespace weir::worker {

std::vector<Linear::Shape> Mlp::Shapes(size_t inputs, absl::Span<const uint32_t> widths, Activation last) {
  std::vector<Linear::Shape> shapes;
  for (const uint32_t width : widths) {
    shapes.push_back({inputs, width, Activation::kRelu});
    inputs = width;
  }
  shapes.back().activation = last;
  return shapes;
}

Mlp::Mlp(absl::Span<const Linear::Shape> shapes, absl::Span<float> parameters, absl::Span<float> gradients) {
  size_t offset = 0;
  for (const Linear::Shape& shape : shapes) {
    const size_t count = shape.parameter_count();
    layers_.push_back({Linear(shape, parameters.subspan(offset, count), gradients.subspan(offset, count)), MatrixBuffer(shape.outputs),
                       MatrixBuffer(shape.outputs)});
    offset += count;
  }
}

void Mlp::Reserve(Rows rows) {
  for (size_t i = 0; i + 1 < layers_.size(); ++i) {
    layers_[i].output.Reserve(rows.batch);
    layers_[i].output_gradient.Reserve(rows.block);
  }
  for (Layer& layer : layers_) {
    if (layer.cut != nullptr) layer.cut->Reserve(rows.batch);
  }
}

void Mlp::Forward(size_t first, ConstMatrix input, Matrix output) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Matrix layer_output = i + 1 < layers_.size() ? layers_[i].output.Rows(first, input.rows) : output;
    layers_[i].linear.Forward(input, layer_output);
    if (layers_[i].cut != nullptr) layers_[i].cut->Forward(first, layer_output);
    input = layer_output;
  }
}

void Mlp::Backward(size_t first, const LayerBackward& pass, LayerDone done) {
  const size_t rows = pass.input.rows;
  LayerBackward layer_pass;
  layer_pass.output = pass.output;
  layer_pass.output_gradient = pass.output_gradient;
  for (size_t i = layers_.size(); i-- > 0;) {
    layer_pass.input = i > 0 ? layers_[i - 1].output.Rows(first, rows) : pass.input;
    layer_pass.input_gradient = i > 0 ? layers_[i - 1].output_gradient.Rows(0, rows) : pass.input_gradient;
    if (layers_[i].cut != nullptr) layer_pass.output = layers_[i].cut->Backward(first, layer_pass.output, layer_pass.output_gradient);
    layers_[i].linear.Backward(layer_pass);
    done(i);
    layer_pass.output = layer_pass.input;
    layer_pass.output_gradient = layer_pass.input_gradient;
  }
}

}  // namespace weir::worker
