#include "worker/layers/linear.h"

#include "tests/worker/reference.h"

namespace weir::worker {
namespace {

struct Case {
  size_t rows;
  size_t inputs;
  size_t outputs;
  Activation activation;
};

// The loss whose derivatives Backward gives: the sum of output * output_gradient over the samples.
double ReferenceLoss(const Case& c, absl::Span<const double> parameters, absl::Span<const double> input,
                     absl::Span<const double> output_gradient) {
  const ReferenceLinear linear = {c.inputs, c.outputs, c.activation == Activation::kRelu};
  double loss = 0;
  for (size_t row = 0; row < c.rows; ++row) {
    loss += Dot(linear.Forward(parameters, input.subspan(row * c.inputs, c.inputs)), output_gradient.subspan(row * c.outputs, c.outputs));
  }
  return loss;
}

class LinearTest : public testing::TestWithParam<Case> {};

TEST_P(LinearTest, GradientsMatchFiniteDifferences) {
  const Case c = GetParam();
  const Linear::Shape shape = {c.inputs, c.outputs, c.activation};
  std::vector<float> parameters = RandomFloats(shape.parameter_count(), 1), gradients(parameters.size(), 0.0f);
  std::vector<float> input = RandomFloats(c.rows * c.inputs, 2), input_gradient(input.size());
  std::vector<float> output(c.rows * c.outputs), output_gradient = RandomFloats(output.size(), 3);
  const std::vector<double> exact_parameters = ToDouble(parameters), exact_input = ToDouble(input), weights = ToDouble(output_gradient);

  const Linear linear(shape, absl::MakeSpan(parameters), absl::MakeSpan(gradients));
  const Matrix inputs = {input.data(), c.rows, c.inputs, c.inputs}, outputs = {output.data(), c.rows, c.outputs, c.outputs};
  linear.Forward(inputs, outputs);
  EXPECT_NEAR(Dot(ToDouble(output), weights), ReferenceLoss(c, exact_parameters, exact_input, weights), 1e-4 * (1 + c.rows));
  linear.Backward(
      {inputs, outputs, {output_gradient.data(), c.rows, c.outputs, c.outputs}, {input_gradient.data(), c.rows, c.inputs, c.inputs}});

  ExpectClose(gradients, NumericGradient(exact_parameters, [&](const auto& p) { return ReferenceLoss(c, p, exact_input, weights); }), 1e-5);
  ExpectClose(input_gradient, NumericGradient(exact_input, [&](const auto& x) { return ReferenceLoss(c, exact_parameters, x, weights); }),
              1e-5);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTest,
                         testing::Values(Case{1, 1, 1, Activation::kNone}, Case{4, 13, 5, Activation::kRelu},
                                         Case{7, 20, 17, Activation::kNone}, Case{9, 17, 33, Activation::kRelu},
                                         Case{0, 3, 2, Activation::kRelu}));

TEST(LinearTest, GradientsAddUpAndTheInputGradientMayBeLeftOut) {
  std::vector<float> parameters = RandomFloats(6, 1), gradients(6, 0.0f), input = {1, 2}, output(2);
  const Linear linear({2, 2, Activation::kNone}, absl::MakeSpan(parameters), absl::MakeSpan(gradients));
  linear.Forward(Matrix{input.data(), 1, 2, 2}, {output.data(), 1, 2, 2});
  for (int i = 0; i < 2; ++i) {
    std::vector<float> output_gradient = {10, 1};
    linear.Backward({Matrix{input.data(), 1, 2, 2}, Matrix{output.data(), 1, 2, 2}, {output_gradient.data(), 1, 2, 2}, Matrix()});
  }
  EXPECT_EQ(gradients, (std::vector<float>{20, 40, 2, 4, 20, 2}));
}

}  // namespace
}  // namespace weir::worker
