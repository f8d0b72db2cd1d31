#include "tools/report/human_units.h"

#include <limits>

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(HumanUnitsTest, BytesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(0.9), "0.90 B");
  EXPECT_EQ(HumanBytes(118), "118 B");
  EXPECT_EQ(HumanBytes(45.53), "45.5 B");
  EXPECT_EQ(HumanBytes(1000), "1.00 kB");
  EXPECT_EQ(HumanBytes(1214), "1.21 kB");
  EXPECT_EQ(HumanBytes(3.4e9), "3.40 GB");
  EXPECT_EQ(HumanBytes(7e18), "7000 PB");
  EXPECT_EQ(HumanBytes(-2048), "-2.05 kB");
}

TEST(HumanUnitsTest, RoundingNeverMakesAFourthDigit) {
  EXPECT_EQ(HumanBytes(9.999), "10.0 B");
  EXPECT_EQ(HumanBytes(99.97), "100 B");
  EXPECT_EQ(HumanBytes(999.4), "999 B");
  EXPECT_EQ(HumanBytes(999.6), "1.00 kB");
  EXPECT_EQ(HumanBytes(999.6e3), "1.00 MB");
  EXPECT_EQ(HumanCount(99960), "100k");
}

TEST(HumanUnitsTest, CountsAreWholeBelowAThousand) {
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(7), "7");
  EXPECT_EQ(HumanCount(950), "950");
  EXPECT_EQ(HumanCount(41200), "41.2k");
  EXPECT_EQ(HumanCount(5e6), "5.00M");
}

TEST(HumanUnitsTest, SecondsGrowIntoMinutesAndHours) {
  EXPECT_EQ(HumanSeconds(0.4), "0.40 s");
  EXPECT_EQ(HumanSeconds(12.34), "12.3 s");
  EXPECT_EQ(HumanSeconds(59.96), "1 min 00 s");
  EXPECT_EQ(HumanSeconds(125), "2 min 05 s");
  EXPECT_EQ(HumanSeconds(3599.6), "1 h 00 min");
  EXPECT_EQ(HumanSeconds(3720), "1 h 02 min");
}

TEST(HumanUnitsTest, RatiosSayWhichWay) {
  constexpr RatioWords kWords = {"fewer", "more"};
  EXPECT_EQ(HumanRatio(1, 63.2, kWords), "63x fewer");
  EXPECT_EQ(HumanRatio(24, 10, kWords), "2.4x more");
  EXPECT_EQ(HumanRatio(112, 100, kWords), "12 % more");
  EXPECT_EQ(HumanRatio(88, 100, kWords), "12 % fewer");
  EXPECT_EQ(HumanRatio(100.4, 100, kWords), "same");
  EXPECT_EQ(HumanRatio(0, 0, kWords), "same");
  EXPECT_EQ(HumanRatio(0, 5, kWords), "-");
  EXPECT_EQ(HumanRatio(5, 0, kWords), "-");
  EXPECT_EQ(HumanRatio(kInfinity, 5, kWords), "-");
}

TEST(HumanUnitsTest, PercentDifferenceHasASign) {
  EXPECT_EQ(HumanPercentDifference(0.45018, 0.45), "+0.04 %");
  EXPECT_EQ(HumanPercentDifference(0.4446, 0.45), "-1.20 %");
  EXPECT_EQ(HumanPercentDifference(1, 0), "-");
}

TEST(HumanUnitsTest, WhatIsNotFiniteIsADash) {
  EXPECT_EQ(HumanBytes(kInfinity), "-");
  EXPECT_EQ(HumanCount(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(HumanSeconds(-kInfinity), "-");
}

}  // namespace
}  // namespace weir::tools
