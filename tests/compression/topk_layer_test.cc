#include "compression/topk_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

// The definition, word for word: all positions sorted by magnitude, then by place.
class ScalarTopk {
 public:
  ScalarTopk(size_t size, size_t count) : count_(count), residual_(size) {}

  std::vector<float> Send(const std::vector<float>& gradient) {
    std::vector<float> sent(gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) residual_[i] = gradient[i] + residual_[i];
    std::vector<size_t> order(gradient.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::fabs(residual_[a]) > std::fabs(residual_[b]); });
    for (size_t i = 0; i < count_; ++i) std::swap(sent[order[i]], residual_[order[i]]);
    return sent;
  }

 private:
  const size_t count_;
  std::vector<float> residual_;
};

std::vector<float> Send(TopkLayer* layer, const std::vector<float>& gradient) {
  std::vector<std::string> frames;
  EXPECT_TRUE(layer->Encode(gradient, 1, {static_cast<uint32_t>(gradient.size())}, &frames).ok());
  layer->Commit();
  std::vector<float> sent(gradient.size());
  EXPECT_TRUE(DecodeInto(frames[0], absl::MakeSpan(sent)).ok());
  return sent;
}

TEST(TopkLayerTest, IsTheDefinitionAtEverySizeWithAndWithoutTies) {
  for (const uint32_t size : {1u, 2u, 63u, 64u, 65u, 1000u, 20000u}) {
    for (const double sparsity : {0.0, 0.5, 0.9, 0.999}) {
      for (const bool ties : {false, true}) {
        TopkLayer layer(size, 0, {sparsity, ValueType::kFp32});
        ScalarTopk scalar(size, CountKept(size, sparsity));
        for (uint32_t step = 0; step < 6; ++step) {
          std::vector<float> gradient = NormalValues(size, step);
          if (ties) std::transform(gradient.begin(), gradient.end(), gradient.begin(), [](float value) { return std::round(value); });
          ASSERT_EQ(Send(&layer, gradient), scalar.Send(gradient)) << size << " at " << sparsity << ", step " << step;
        }
      }
    }
  }
}

TEST(TopkLayerTest, KeepsTheSameCountEachStep) {
  TopkLayer layer(1000, 0, {0.97, ValueType::kFp32});
  for (uint32_t step = 0; step < 20; ++step) {
    Send(&layer, std::vector<float>(1000, step % 2 == 0 ? 1.0f : -0.25f));
    EXPECT_EQ(layer.stats().kept, 30);
  }
}

TEST(TopkLayerTest, CountIsRoundedAndAtLeastOne) {
  EXPECT_EQ(CountKept(1000, 0.99), 10);
  EXPECT_EQ(CountKept(1000, 0.9994), 1);
  EXPECT_EQ(CountKept(1000, 0.9984), 2);  // 1.6
  EXPECT_EQ(CountKept(1000, 0.999999), 1);
  EXPECT_EQ(CountKept(1000, 0), 1000);
  EXPECT_EQ(CountKept(7, 0.5), 4);
  EXPECT_EQ(CountKept(1, 0.99), 1);
}

TEST(TopkLayerTest, FewerThanCountWhenMostAreZeroOrRoundToZero) {
  TopkLayer layer(100, 0, {0.9, ValueType::kFp32});
  std::vector<float> gradient(100);
  gradient[3] = 2;
  gradient[99] = -1;
  EXPECT_EQ(Send(&layer, gradient), gradient);
  EXPECT_EQ(layer.stats().kept, 2);
  EXPECT_EQ(layer.stats().threshold, 0);

  TopkLayer halves(100, 0, {0.9, ValueType::kFp16});
  gradient[4] = 1e-9f;
  Send(&halves, gradient);
  EXPECT_EQ(halves.stats().kept, 2);
  EXPECT_EQ(halves.residual()[4], 1e-9f);
}

}  // namespace
}  // namespace weir::compression
