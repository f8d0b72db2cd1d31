#include "compression/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weir::compression {
namespace {

// The definition, in double: sign, exponent, mantissa.
double HalfByDefinition(uint16_t half) {
  const int exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 0x1f) return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(HalfTest, EveryHalfMeansWhatItsDefinitionSays) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const float value = FloatFromHalf(static_cast<uint16_t>(half));
    const double expected = HalfByDefinition(static_cast<uint16_t>(half));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << half;
    } else {
      EXPECT_EQ(value, expected) << half;
      EXPECT_EQ(std::signbit(value), std::signbit(expected)) << half;
      EXPECT_EQ(HalfFromFloat(value), half);
    }
  }
}

// Between each two neighbours: below, at and above the middle, where the even one wins.
TEST(HalfTest, RoundsToNearestAndTiesToEven) {
  for (uint32_t half = 0; half < 0x7bff; ++half) {
    const double low = HalfByDefinition(static_cast<uint16_t>(half)), high = HalfByDefinition(static_cast<uint16_t>(half + 1));
    const float middle = static_cast<float>((low + high) / 2);  // exact
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, 0.0f)), half);
    ASSERT_EQ(HalfFromFloat(middle), half + half % 2);
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, 70000.0f)), half + 1);
    ASSERT_EQ(HalfFromFloat(-middle), 0x8000 + half + half % 2);
  }
}

TEST(HalfTest, RangeEndsAt65520) {
  EXPECT_EQ(HalfFromFloat(65504.0f), 0x7bff);
  EXPECT_EQ(HalfFromFloat(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(HalfFromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(HalfFromFloat(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(HalfFromFloat(std::numeric_limits<float>::quiet_NaN()), 0x7e00);
  EXPECT_EQ(HalfFromFloat(kHalfZeroMax), 0);
  EXPECT_EQ(HalfFromFloat(std::nextafter(kHalfZeroMax, 1.0f)), 1);
  EXPECT_EQ(HalfFromFloat(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(HalfFromFloat(-0.0f), 0x8000);
}

}  // namespace
}  // namespace weir::compression
