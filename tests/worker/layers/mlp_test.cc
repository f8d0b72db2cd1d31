#include "worker/layers/mlp.h"

#include "tests/worker/reference.h"

namespace weir::worker {
namespace {

constexpr size_t kInputs = 5;
constexpr size_t kRows = 6;
constexpr size_t kOutputs = 3;
constexpr uint32_t kWidths[] = {9, 4, kOutputs};

double ReferenceLoss(absl::Span<const double> parameters, absl::Span<const double> input, absl::Span<const double> weights) {
  double loss = 0;
  for (size_t row = 0; row < kRows; ++row) {
    std::vector<double> values(input.begin() + row * kInputs, input.begin() + (row + 1) * kInputs);
    absl::Span<const double> left = parameters;
    for (const uint32_t width : kWidths) {
      const ReferenceLinear linear = {values.size(), width, width != kOutputs};
      values = linear.Forward(left, values);
      left.remove_prefix(linear.parameter_count());
    }
    loss += Dot(values, weights.subspan(row * kOutputs, kOutputs));
  }
  return loss;
}

TEST(MlpTest, ShapesChainAndOnlyTheLastActivationIsTheCallers) {
  const std::vector<Linear::Shape> shapes = Mlp::Shapes(kInputs, kWidths, Activation::kNone);
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].inputs, kInputs);
  EXPECT_EQ(shapes[1].inputs, 9u);
  EXPECT_EQ(shapes[2].inputs, 4u);
  EXPECT_EQ(shapes[1].activation, Activation::kRelu);
  EXPECT_EQ(shapes[2].activation, Activation::kNone);
}

TEST(MlpTest, GradientsMatchFiniteDifferencesWhenTheBatchGoesThroughInBlocks) {
  const std::vector<Linear::Shape> shapes = Mlp::Shapes(kInputs, kWidths, Activation::kNone);
  size_t count = 0;
  for (const Linear::Shape& shape : shapes) count += shape.parameter_count();
  std::vector<float> parameters = RandomFloats(count, 1), gradients(count, 0.0f);
  std::vector<float> input = RandomFloats(kRows * kInputs, 2), input_gradient(input.size());
  std::vector<float> output(kRows * kOutputs), output_gradient = RandomFloats(output.size(), 3);
  const std::vector<double> exact_parameters = ToDouble(parameters), exact_input = ToDouble(input), weights = ToDouble(output_gradient);

  Mlp mlp(shapes, absl::MakeSpan(parameters), absl::MakeSpan(gradients));
  mlp.Reserve({kRows, 4});
  const Matrix inputs = {input.data(), kRows, kInputs, kInputs}, outputs = {output.data(), kRows, kOutputs, kOutputs};
  const Matrix input_gradients = {input_gradient.data(), kRows, kInputs, kInputs};
  const Matrix output_gradients = {output_gradient.data(), kRows, kOutputs, kOutputs};
  for (const size_t first : {0, 4}) mlp.Forward(first, inputs.Rows(first, first == 0 ? 4 : 2), outputs.Rows(first, first == 0 ? 4 : 2));
  EXPECT_NEAR(Dot(ToDouble(output), weights), ReferenceLoss(exact_parameters, exact_input, weights), 1e-5);
  for (const size_t first : {0, 4}) {
    const size_t rows = first == 0 ? 4 : 2;
    mlp.Backward(first, {inputs.Rows(first, rows), outputs.Rows(first, rows), output_gradients.Rows(first, rows),
                         input_gradients.Rows(first, rows)});
  }

  ExpectClose(gradients, NumericGradient(exact_parameters, [&](const auto& p) { return ReferenceLoss(p, exact_input, weights); }), 1e-5);
  ExpectClose(input_gradient, NumericGradient(exact_input, [&](const auto& x) { return ReferenceLoss(exact_parameters, x, weights); }),
              1e-5);
}

}  // namespace
}  // namespace weir::worker
