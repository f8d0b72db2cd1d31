#include "worker/layers/threshold_cut.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/worker/reference.h"

namespace weir::worker {
namespace {

constexpr size_t kColumns = 24;
constexpr size_t kRows = 7;

Cut CutOf(Cut::Method method, double sparsity) {
  Cut cut;
  cut.set_after("bottom.0");
  cut.set_method(method);
  cut.set_sparsity(sparsity);
  return cut;
}

// What a ReLU puts out: about half of it zeros.
std::vector<float> Activations(uint64_t seed) {
  std::vector<float> values = RandomFloats(kRows * kColumns, seed);
  for (float& value : values) value = std::max(value, 0.0f);
  return values;
}

Matrix MatrixOf(std::vector<float>* values) { return {values->data(), values->size() / kColumns, kColumns, kColumns}; }

// Algorithm 2 as the paper writes it, one row at a time, but for exact zeros.
std::vector<float> Reference(const std::vector<float>& values, double sparsity) {
  std::vector<float> kept = values;
  for (size_t row = 0; row < values.size() / kColumns; ++row) {
    std::vector<float> magnitudes(values.begin() + row * kColumns, values.begin() + (row + 1) * kColumns);
    for (float& value : magnitudes) value = std::fabs(value);
    std::sort(magnitudes.begin(), magnitudes.end());
    const auto rank = static_cast<size_t>(std::floor(kColumns * sparsity));
    const float threshold = rank == 0 ? 0 : magnitudes[rank - 1];
    for (size_t i = 0; i < kColumns; ++i) {
      if (std::fabs(values[row * kColumns + i]) < threshold) kept[row * kColumns + i] = 0;
    }
  }
  return kept;
}

TEST(ThresholdCutTest, ExactIsTheAlgorithm) {
  for (const double sparsity : {0.0, 0.3, 0.75, 0.9, 0.99}) {
    std::vector<float> values = Activations(1);
    const std::vector<float> expected = Reference(values, sparsity);
    ThresholdCut cut(CutOf(Cut::METHOD_EXACT, sparsity), kColumns, 1);
    cut.Reserve(kRows);
    cut.Forward(0, MatrixOf(&values));
    EXPECT_EQ(values, expected) << sparsity;
    const ThresholdCut::Count count = cut.TakeCount();
    EXPECT_EQ(count.entries, values.size());
    EXPECT_EQ(count.kept, static_cast<uint64_t>(std::count_if(values.begin(), values.end(), [](float v) { return v != 0; })));
    EXPECT_EQ(cut.TakeCount().entries, 0u);
  }
}

TEST(ThresholdCutTest, SparsityZeroChangesNoBit) {
  std::vector<float> values = Activations(2);
  const std::vector<float> before = values;
  ThresholdCut cut(CutOf(Cut::METHOD_EXACT, 0), kColumns, 1);
  cut.Forward(0, MatrixOf(&values));
  EXPECT_EQ(std::memcmp(values.data(), before.data(), values.size() * sizeof(float)), 0);
}

TEST(ThresholdCutTest, RowsOfOneValueAndOfZerosCrossAsTheyAre) {
  for (const float value : {0.0f, 2.5f}) {
    std::vector<float> values(kRows * kColumns, value);
    const std::vector<float> before = values;
    ThresholdCut cut(CutOf(Cut::METHOD_EXACT, 0.9), kColumns, 1);
    cut.Forward(0, MatrixOf(&values));
    EXPECT_EQ(values, before);
  }
}

TEST(ThresholdCutTest, ADivergedModelShows) {
  for (const Cut::Method method : {Cut::METHOD_EXACT, Cut::METHOD_LAPLACE, Cut::METHOD_GRADIENT_TOPK}) {
    std::vector<float> values = Activations(3);
    values[kColumns + 4] = std::numeric_limits<float>::quiet_NaN();
    ThresholdCut cut(CutOf(method, 0.5), kColumns, 1);
    cut.Reserve(kRows);
    cut.Forward(0, MatrixOf(&values));
    EXPECT_TRUE(std::isnan(values[kColumns + 4])) << method;
  }
}

// Rows of other batches have another threshold in training, and the last one of training afterwards.
TEST(ThresholdCutTest, LaplaceKeepsItsThresholdForEvaluation) {
  ThresholdCut cut(CutOf(Cut::METHOD_LAPLACE, 0.9), kColumns, 1);
  std::vector<float> values = Activations(4);
  cut.Forward(0, MatrixOf(&values));
  float least = std::numeric_limits<float>::infinity();
  for (const float value : values) least = value > 0 ? std::min(least, value) : least;
  EXPECT_GT(least, 0.3f);
  cut.SetTraining(false);
  std::vector<float> small = Activations(5);
  for (float& value : small) value *= 0.001f;
  cut.Forward(0, MatrixOf(&small));
  EXPECT_EQ(std::count(small.begin(), small.end(), 0.0f), static_cast<ptrdiff_t>(small.size()));
  cut.SetTraining(true);
  small = Activations(5);
  for (float& value : small) value *= 0.001f;
  cut.Forward(0, MatrixOf(&small));
  EXPECT_LT(std::count(small.begin(), small.end(), 0.0f), static_cast<ptrdiff_t>(small.size()));
}

// Backward leaves exact and laplace to the ReLU below, which sees the zeros.
TEST(ThresholdCutTest, MasksGoBackThroughTheirZeros) {
  ThresholdCut cut(CutOf(Cut::METHOD_EXACT, 0.75), kColumns, 1);
  std::vector<float> values = Activations(6), gradient = RandomFloats(values.size(), 7);
  const std::vector<float> before = gradient;
  cut.Forward(0, MatrixOf(&values));
  const ConstMatrix output = cut.Backward(0, MatrixOf(&values), MatrixOf(&gradient));
  EXPECT_EQ(output.data, values.data());
  EXPECT_EQ(gradient, before);
}

// A projection to half of the numbers: right in the mean over seeds, and far from right each time.
TEST(ThresholdCutTest, SketchIsUnbiasedAndItsReluGoesBackByWhatItWasGiven) {
  const std::vector<float> given = Activations(8);
  std::vector<double> mean(given.size(), 0);
  constexpr int kSeeds = 600;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::vector<float> values = given;
    ThresholdCut cut(CutOf(Cut::METHOD_GAUSSIAN_SKETCH, 0.5), kColumns, seed);
    cut.Reserve(kRows);
    cut.Forward(0, MatrixOf(&values));
    for (size_t i = 0; i < values.size(); ++i) mean[i] += values[i] / kSeeds;
    if (seed > 0) continue;
    EXPECT_NE(values, given);
    EXPECT_EQ(cut.TakeCount().kept, kRows * kColumns / 2);
    std::vector<float> gradient(values.size(), 1.0f);
    const ConstMatrix output = cut.Backward(0, MatrixOf(&values), MatrixOf(&gradient));
    EXPECT_EQ(std::vector<float>(output.data, output.data + given.size()), given);
    EXPECT_EQ(gradient, std::vector<float>(values.size(), 1.0f));
  }
  for (size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(mean[i], given[i], 0.25) << i;
}

// Of each place's gradients, what went back and what is left to be sent add up to what came.
TEST(ThresholdCutTest, GradientTopkHoldsBackAndLosesNothing) {
  ThresholdCut cut(CutOf(Cut::METHOD_GRADIENT_TOPK, 0.75), kColumns, 1);
  cut.Reserve(kRows);
  std::vector<double> came(kRows * kColumns, 0), went(kRows * kColumns, 0);
  for (uint64_t batch = 0; batch < 50; ++batch) {
    std::vector<float> values = Activations(batch), gradient = RandomFloats(values.size(), 100 + batch);
    const std::vector<float> before = values;
    cut.Forward(0, MatrixOf(&values));
    EXPECT_EQ(values, before);
    for (size_t i = 0; i < came.size(); ++i) came[i] += gradient[i];
    cut.Backward(0, MatrixOf(&values), MatrixOf(&gradient));
    for (size_t row = 0; row < kRows; ++row) {
      EXPECT_EQ(std::count_if(&gradient[row * kColumns], &gradient[row * kColumns] + kColumns, [](float g) { return g != 0; }),
                static_cast<ptrdiff_t>(kColumns - kColumns * 3 / 4 + 1));
    }
    for (size_t i = 0; i < went.size(); ++i) went[i] += gradient[i];
  }
  // What is left is what the next step would send of a zero gradient, and the ones after that.
  for (int more = 0; more < 8; ++more) {
    std::vector<float> values = Activations(0), gradient(values.size(), 0.0f);
    cut.Forward(0, MatrixOf(&values));
    cut.Backward(0, MatrixOf(&values), MatrixOf(&gradient));
    for (size_t i = 0; i < went.size(); ++i) went[i] += gradient[i];
  }
  for (size_t i = 0; i < came.size(); ++i) EXPECT_NEAR(went[i], came[i], 1e-4) << i;
}

}  // namespace
}  // namespace weir::worker
