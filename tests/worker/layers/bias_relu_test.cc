#include "worker/layers/bias_relu.h"

#include <limits>

#include "tests/worker/reference.h"

namespace weir::worker {
namespace {

class BiasReluTest : public testing::TestWithParam<size_t> {};  // columns, on both sides of vector widths

TEST_P(BiasReluTest, ForwardMatchesTheScalarReferenceAndLeavesTheStrideAlone) {
  const size_t columns = GetParam(), stride = columns + 2, rows = 3;
  const std::vector<float> bias = RandomFloats(columns, 1);
  for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
    std::vector<float> values = RandomFloats(rows * stride, 2);
    std::vector<float> expected = values;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < columns; ++i) {
        float& value = expected[row * stride + i];
        value += bias[i];
        if (activation == Activation::kRelu && value < 0) value = 0;
      }
    }
    AddBias(activation, bias, {values.data(), rows, columns, stride});
    EXPECT_EQ(values, expected);
  }
}

TEST_P(BiasReluTest, BackwardMasksWhereTheOutputIsNotPositiveAndAddsToTheBiasGradient) {
  const size_t columns = GetParam(), stride = columns + 2, rows = 5;
  std::vector<float> output = RandomFloats(rows * stride, 1);
  for (float& value : output) value = std::max(value, 0.0f);
  for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
    std::vector<float> gradient = RandomFloats(rows * stride, 2), expected = gradient;
    std::vector<float> sums = RandomFloats(columns, 3);
    std::vector<double> expected_sums = ToDouble(sums);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < columns; ++i) {
        float& value = expected[row * stride + i];
        if (activation == Activation::kRelu && output[row * stride + i] <= 0) value = 0;
        expected_sums[i] += value;
      }
    }
    BiasBackward(activation, {output.data(), rows, columns, stride}, {gradient.data(), rows, columns, stride}, absl::MakeSpan(sums));
    EXPECT_EQ(gradient, expected);
    ExpectClose(sums, expected_sums, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, BiasReluTest, testing::Values(1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 100));

TEST(BiasReluNanTest, NanPassesThroughReluSoThatDivergenceShows) {
  std::vector<float> values(19, std::numeric_limits<float>::quiet_NaN());
  AddBias(Activation::kRelu, std::vector<float>(19, 1.0f), {values.data(), 1, 19, 19});
  for (const float value : values) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace weir::worker
