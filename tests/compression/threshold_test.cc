#include "compression/threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

constexpr double kSparsities[] = {0, 0.001, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999999};

float ThresholdByNthElement(std::vector<float> values, double sparsity) {
  const size_t rank = static_cast<size_t>(std::floor(values.size() * sparsity));
  if (rank == 0) return 0;
  for (float& value : values) value = std::fabs(value);
  std::nth_element(values.begin(), values.begin() + (rank - 1), values.end());
  return values[rank - 1];
}

struct Shape {
  const char* name;
  std::function<std::vector<float>(size_t)> make;
};

std::vector<float> Fill(size_t size, const std::function<float(size_t)>& value) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = value(i);
  return values;
}

const std::vector<Shape>& Shapes() {
  static const auto& shapes = *new std::vector<Shape>{
      {"normal", [](size_t size) { return NormalValues(size, 1); }},
      {"distinct", [](size_t size) { return DistinctValues(size, 2); }},
      {"zeros", [](size_t size) { return std::vector<float>(size, 0.0f); }},
      {"negative zeros", [](size_t size) { return std::vector<float>(size, -0.0f); }},
      {"constant", [](size_t size) { return std::vector<float>(size, -0.75f); }},
      {"few values, many ties", [](size_t size) { return Fill(size, [](size_t i) { return static_cast<float>(i * 7919 % 5) - 2; }); }},
      {"mostly zeros", [](size_t size) { return Fill(size, [](size_t i) { return i % 20 == 0 ? 1.0f / (i + 1) : 0; }); }},
      {"subnormal", [](size_t size) { return Fill(size, [](size_t i) { return std::ldexp(static_cast<float>(i * 31 % 1000), -149); }); }},
      {"one bin", [](size_t size) { return Fill(size, [](size_t i) { return 1.0f + static_cast<float>(i * 7919 % 4099) * 0x1p-23f; }); }},
      {"every exponent",
       [](size_t size) { return Fill(size, [](size_t i) { return std::ldexp(1.0f, static_cast<int>(i * 37 % 277) - 149); }); }},
      {"edges", [](size_t size) { return Fill(size, [](size_t i) { return EdgeValues()[i % EdgeValues().size()]; }); }},
  };
  return shapes;
}

TEST(MagnitudeThresholdTest, EqualsNthElement) {
  std::vector<size_t> sizes = {255, 256, 257, 1000, 4096, 16383, 16384, 16387, 50000};
  for (size_t size = 0; size <= 130; ++size) sizes.push_back(size);
  for (const Shape& shape : Shapes()) {
    for (const size_t size : sizes) {
      const std::vector<float> values = shape.make(size);
      for (const double sparsity : kSparsities) {
        ASSERT_EQ(MagnitudeThreshold(values, sparsity), ThresholdByNthElement(values, sparsity))
            << shape.name << " " << size << " " << sparsity;
      }
    }
  }
}

// The paper: N - floor(N * sparsity) + 1 entries of distinct magnitudes pass.
TEST(MagnitudeThresholdTest, KeepsTheStatedCount) {
  for (const size_t size : {1u, 2u, 16u, 31u, 64u, 100u, 512u, 20000u}) {
    const std::vector<float> values = DistinctValues(size, 3);
    for (const double sparsity : kSparsities) {
      std::vector<uint32_t> kept;
      SelectKept(values, MagnitudeThreshold(values, sparsity), 0, &kept);
      const size_t dropped_rank = static_cast<size_t>(size * sparsity);
      EXPECT_EQ(kept.size(), dropped_rank == 0 ? size : size - dropped_rank + 1) << size << " " << sparsity;
    }
  }
}

TEST(MagnitudeThresholdTest, KeptCountsOfThePaper) {
  // Width 16 at 95 % keeps 2, not 5 %: seen where single rows are thresholded.
  for (const auto& [width, kept_count] :
       std::vector<std::pair<size_t, size_t>>{{16, 2}, {32, 3}, {64, 5}, {128, 8}, {256, 14}, {512, 27}}) {
    const std::vector<float> values = DistinctValues(width, 4);
    std::vector<uint32_t> kept;
    SelectKept(values, MagnitudeThreshold(values, 0.95), 0, &kept);
    EXPECT_EQ(kept.size(), kept_count);
  }
}

TEST(SelectKeptTest, AppendsPositionsAndNeverKeepsZeros) {
  const std::vector<float> values = {0.0f, -3.0f, 2.0f, -0.0f, 1.0f, std::numeric_limits<float>::denorm_min()};
  std::vector<uint32_t> kept = {99};
  SelectKept(values, 0, 10, &kept);
  EXPECT_EQ(kept, (std::vector<uint32_t>{99, 11, 12, 14, 15}));
  kept.clear();
  SelectKept(values, 2, 0, &kept);
  EXPECT_EQ(kept, (std::vector<uint32_t>{1, 2}));
}

TEST(SelectKeptTest, EqualsAPlainLoopAcrossChunks) {
  const std::vector<float> values = NormalValues(10001, 5);
  for (const float threshold : {0.0f, 0.1f, 1.0f, 2.5f, 9.0f}) {
    std::vector<uint32_t> kept, expected;
    SelectKept(values, threshold, 3, &kept);
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (std::fabs(values[i]) >= threshold && values[i] != 0) expected.push_back(i + 3);
    }
    EXPECT_EQ(kept, expected);
  }
}

TEST(SelectLargestTest, EqualsASortByMagnitudeThenPlace) {
  for (const Shape& shape : Shapes()) {
    for (const size_t size : {1, 2, 7, 100, 16383, 16384, 20000}) {
      const std::vector<float> values = shape.make(size);
      std::vector<uint32_t> order(size);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return std::fabs(values[a]) > std::fabs(values[b]); });
      for (const size_t count : {size_t{1}, size / 100 + 1, size / 2 + 1, size}) {
        if (count > size) continue;
        std::vector<uint32_t> expected(order.begin(), order.begin() + count), kept = {42};
        expected.erase(std::remove_if(expected.begin(), expected.end(), [&](uint32_t i) { return values[i] == 0; }), expected.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(SelectLargest(values, count, &kept), std::fabs(values[order[count - 1]])) << shape.name << " " << size << " " << count;
        ASSERT_EQ(kept, expected) << shape.name << " " << size << " " << count;
      }
    }
  }
}

TEST(SelectPerSampleTest, ThresholdsEachSampleAlone) {
  // The first sample's smallest is larger than the second's largest; the third is empty.
  const std::vector<float> values = {100, -400, 300, 200, 4, 1, -3, 2};
  const std::vector<uint32_t> ends = {4, 8, 8};
  std::vector<uint32_t> kept = {42};
  ASSERT_TRUE(SelectPerSample(values, ends, 0.75, &kept).ok());
  EXPECT_EQ(kept, (std::vector<uint32_t>{1, 2, 4, 6}));
}

TEST(SelectPerSampleTest, EqualsThresholdOfEachSample) {
  const std::vector<float> values = NormalValues(4000, 6);
  std::vector<uint32_t> ends, expected, kept;
  for (uint32_t end = 0; end < 4000; end += end % 97 + 1) ends.push_back(end);
  ends.push_back(4000);
  for (const double sparsity : kSparsities) {
    ASSERT_TRUE(SelectPerSample(values, ends, sparsity, &kept).ok());
    expected.clear();
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
      const std::vector<float> sample(values.begin() + begin, values.begin() + end);
      const float threshold = ThresholdByNthElement(sample, sparsity);
      for (uint32_t i = begin; i < end; ++i) {
        if (std::fabs(values[i]) >= threshold) expected.push_back(i);
      }
      begin = end;
    }
    EXPECT_EQ(kept, expected) << sparsity;
  }
}

TEST(SelectPerSampleTest, RefusesWhatIsNotFiniteAndBadEnds) {
  std::vector<uint32_t> kept = {5};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    const absl::Status status = SelectPerSample(std::vector<float>{1, bad, 2}, std::vector<uint32_t>{3}, 0.5, &kept);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("value 1 of 3"), std::string::npos) << status;
  }
  EXPECT_FALSE(SelectPerSample(std::vector<float>{1, 2}, std::vector<uint32_t>{2, 1}, 0.5, &kept).ok());
  EXPECT_FALSE(SelectPerSample(std::vector<float>{1, 2}, std::vector<uint32_t>{1}, 0.5, &kept).ok());
  EXPECT_FALSE(SelectPerSample(std::vector<float>{1, 2}, std::vector<uint32_t>{3}, 0.5, &kept).ok());
  EXPECT_EQ(kept, (std::vector<uint32_t>{5}));
}

// Drawn from Laplace laws, also far from zero, about as many are kept as asked for.
TEST(LaplaceThresholdTest, KeepsTheShareOfALaplaceLaw) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> magnitude(1);
  for (const double mean : {0.0, 0.5, -3.0, 40.0}) {
    std::vector<float> values(200000);
    for (float& value : values) value = static_cast<float>(mean + (random() % 2 == 0 ? 1 : -1) * 2 * magnitude(random));
    for (const double sparsity : {0.25, 0.5, 0.9, 0.99}) {
      const float threshold = LaplaceThreshold(values, sparsity);
      const auto kept = std::count_if(values.begin(), values.end(), [=](float v) { return std::fabs(v) >= threshold; });
      EXPECT_NEAR(static_cast<double>(kept) / values.size(), 1 - sparsity, 0.01) << mean << " " << sparsity;
    }
  }
}

TEST(LaplaceThresholdTest, ValuesAllAlikeAndNoSparsityKeepAll) {
  EXPECT_EQ(LaplaceThreshold(std::vector<float>(9, 3.0f), 0.9), 0);
  EXPECT_EQ(LaplaceThreshold({}, 0.9), 0);
  EXPECT_LE(LaplaceThreshold(std::vector<float>{1, 2, -3}, 0), 1);
}

}  // namespace
}  // namespace weir::compression
