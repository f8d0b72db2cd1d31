#include "worker/layers/dot_interaction.h"

#include "tests/worker/reference.h"

namespace weir::worker {
namespace {

class DotInteractionTest : public testing::TestWithParam<DotInteraction::Shape> {
 protected:
  static constexpr size_t kSamples = 3;

  // Vector 0 lies in `output`, the others in `pooled`.
  std::vector<double> SampleVectors(size_t sample) const {
    std::vector<double> vectors(initial_output_.begin() + sample * stride_, initial_output_.begin() + sample * stride_ + shape_.dim);
    vectors.insert(vectors.end(), pooled_.begin() + sample * pooled_columns_, pooled_.begin() + (sample + 1) * pooled_columns_);
    return vectors;
  }
  Matrix OutputMatrix(std::vector<float>* values) const { return {values->data(), kSamples, shape_.output_columns(), stride_}; }

  const DotInteraction::Shape shape_ = GetParam();
  const size_t stride_ = shape_.output_columns() + 5;
  const size_t pooled_columns_ = (shape_.vectors - 1) * shape_.dim;
  const std::vector<float> pooled_ = RandomFloats(kSamples * pooled_columns_, 1);
  const std::vector<float> initial_output_ = RandomFloats(kSamples * stride_, 2);
  const ConstMatrix pooled_matrix_ = {pooled_.data(), kSamples, pooled_columns_, pooled_columns_};
  DotInteraction interaction_{shape_};
};

TEST_P(DotInteractionTest, ForwardMatchesTheScalarReferenceAndWritesNothingElse) {
  std::vector<float> output = initial_output_;
  interaction_.Forward(pooled_matrix_, OutputMatrix(&output));
  std::vector<double> expected = ToDouble(initial_output_);
  for (size_t sample = 0; sample < kSamples; ++sample) {
    const std::vector<double> row = ReferenceInteraction(SampleVectors(sample), shape_.dim);
    ASSERT_EQ(row.size(), shape_.output_columns());
    std::copy(row.begin(), row.end(), expected.begin() + sample * stride_);
  }
  ExpectClose(output, expected, 1e-5);
}

TEST_P(DotInteractionTest, GradientsMatchFiniteDifferences) {
  std::vector<float> output = initial_output_;
  interaction_.Forward(pooled_matrix_, OutputMatrix(&output));
  const std::vector<float> weights = RandomFloats(output.size(), 3);
  std::vector<float> output_gradient = weights, pooled_gradient(pooled_.size());
  interaction_.Backward({pooled_matrix_,
                         OutputMatrix(&output),
                         OutputMatrix(&output_gradient),
                         {pooled_gradient.data(), kSamples, pooled_columns_, pooled_columns_}});
  for (size_t sample = 0; sample < kSamples; ++sample) {
    const std::vector<double> row_weights(weights.begin() + sample * stride_, weights.begin() + sample * stride_ + shape_.output_columns());
    const std::vector<double> expected = NumericGradient(
        SampleVectors(sample), [&](const auto& vectors) { return Dot(ReferenceInteraction(vectors, shape_.dim), row_weights); });
    const absl::Span<const double> all = expected;
    ExpectClose(absl::MakeSpan(output_gradient).subspan(sample * stride_, shape_.dim), all.first(shape_.dim), 1e-5);
    ExpectClose(absl::MakeSpan(pooled_gradient).subspan(sample * pooled_columns_, pooled_columns_), all.subspan(shape_.dim), 1e-5);
  }
}

// The paper's shape, no feature at all, and sizes on both sides of vector widths and tile heights.
INSTANTIATE_TEST_SUITE_P(Shapes, DotInteractionTest,
                         testing::Values(DotInteraction::Shape{27, 16}, DotInteraction::Shape{1, 4}, DotInteraction::Shape{2, 1},
                                         DotInteraction::Shape{4, 3}, DotInteraction::Shape{5, 17}, DotInteraction::Shape{16, 8},
                                         DotInteraction::Shape{17, 32}, DotInteraction::Shape{33, 20}));

}  // namespace
}  // namespace weir::worker
