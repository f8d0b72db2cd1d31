#include "compression/rounded_layer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compression/half.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

TEST(RoundedLayerTest, EveryEntryIsRoundedByTheScalarRule) {
  RoundedLayer halves(1000, ValueType::kFp16), brains(1000, ValueType::kBf16);
  const std::vector<float> gradient = NormalValues(1000, 3);
  std::vector<std::string> frames;
  std::vector<float> decoded(1000);
  ASSERT_TRUE(halves.Encode(gradient, 1, {1000}, &frames).ok());
  EXPECT_EQ(frames[0].size(), 2000 + 12);
  ASSERT_TRUE(DecodeInto(frames[0], absl::MakeSpan(decoded)).ok());
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(decoded[i], FloatFromHalf(HalfFromFloat(gradient[i])));
  ASSERT_TRUE(brains.Encode(gradient, 1, {1000}, &frames).ok());
  ASSERT_TRUE(DecodeInto(frames[0], absl::MakeSpan(decoded)).ok());
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(decoded[i], FloatFromBrain(BrainFromFloat(gradient[i])));
}

TEST(RoundedLayerTest, BeyondTheRangeIsRefusedForThereIsNoResidual) {
  RoundedLayer halves(2, ValueType::kFp16), brains(2, ValueType::kBf16);
  std::vector<std::string> frames;
  EXPECT_EQ(halves.Encode(std::vector<float>{1, 1e5f}, 1, {2}, &frames).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(brains.Encode(std::vector<float>{1, 1e5f}, 1, {2}, &frames).ok());
}

}  // namespace
}  // namespace weir::compression
