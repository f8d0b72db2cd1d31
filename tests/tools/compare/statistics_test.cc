#include "tools/compare/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

TEST(StatisticsTest, MeanAndSpreadByHand) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  const MeanSpread of = MeanAndSpread(values);
  EXPECT_EQ(of.count, 8u);
  EXPECT_DOUBLE_EQ(of.mean, 5);
  // Squares of the distances are 9 1 1 1 0 0 4 16: 32 over 7.
  EXPECT_DOUBLE_EQ(of.spread, std::sqrt(32.0 / 7));
}

TEST(StatisticsTest, TooFewValuesHaveNoSpread) {
  EXPECT_TRUE(std::isnan(MeanAndSpread({}).mean));
  const std::vector<double> one = {3};
  EXPECT_EQ(MeanAndSpread(one).mean, 3);
  EXPECT_TRUE(std::isnan(MeanAndSpread(one).spread));
}

// With 1, 2 and 4 degrees of freedom the distribution has a closed form.
TEST(StatisticsTest, StudentAgreesWithItsClosedForms) {
  for (const double t : {1e-6, 0.01, 0.3, 1.0, 1.7, 2.5, 6.3, 40.0, 1e4}) {
    EXPECT_NEAR(StudentTwoSided(t, 1), 2 / M_PI * std::atan(1 / t), 1e-12) << t;
    const double two = t / std::sqrt(2 + t * t);
    EXPECT_NEAR(StudentTwoSided(t, 2), 1 - two, 1e-12) << t;
    const double four = t / std::sqrt(4 + t * t);
    EXPECT_NEAR(StudentTwoSided(t, 4), 1 - four * (3 - four * four) / 2, 1e-12) << t;
    EXPECT_EQ(StudentTwoSided(-t, 3.5), StudentTwoSided(t, 3.5)) << t;
  }
}

// Two-sided 5 % and 1 % points as printed in every table.
TEST(StatisticsTest, StudentAgreesWithTables) {
  EXPECT_NEAR(StudentTwoSided(12.7062, 1), 0.05, 1e-5);
  EXPECT_NEAR(StudentTwoSided(4.30265, 2), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(3.18245, 3), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(2.22814, 10), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(2.75000, 30), 0.01, 1e-6);
  EXPECT_NEAR(StudentTwoSided(1.97993, 120), 0.05, 1e-6);
  // The normal distribution's.
  EXPECT_NEAR(StudentTwoSided(1.959964, 1e7), 0.05, 1e-6);
}

TEST(StatisticsTest, StudentAtTheEnds) {
  EXPECT_DOUBLE_EQ(StudentTwoSided(0, 5), 1);
  EXPECT_EQ(StudentTwoSided(std::numeric_limits<double>::infinity(), 5), 0);
  EXPECT_TRUE(std::isnan(StudentTwoSided(std::nan(""), 5)));
}

TEST(StatisticsTest, PairedTestByHand) {
  // Differences 1, 2, 3: mean 2, spread 1, t = 2 sqrt(3) with two degrees of freedom.
  const std::vector<double> a = {11, 22, 33};
  const std::vector<double> b = {10, 20, 30};
  const double t = 2 * std::sqrt(3.0);
  EXPECT_NEAR(*PairedTTest(a, b), 1 - t / std::sqrt(2 + t * t), 1e-12);
  EXPECT_NEAR(*PairedTTest(a, b), 0.07418, 1e-5);
  EXPECT_EQ(*PairedTTest(a, b), *PairedTTest(b, a));
}

TEST(StatisticsTest, PairsWithoutSpreadLeaveNothingToChance) {
  const std::vector<double> a = {1, 2, 4};
  const std::vector<double> more = {2, 3, 5};
  EXPECT_EQ(PairedTTest(a, a), 1);
  EXPECT_EQ(PairedTTest(a, more), 0);
  EXPECT_FALSE(PairedTTest({1.0}, {2.0}).has_value());
  EXPECT_FALSE(PairedTTest({}, {}).has_value());
}

TEST(StatisticsTest, WelchByHand) {
  // Means 2 and 6, variances 1 and 4 of three each: square 5 / 3, t = 4 / sqrt(5 / 3), degrees (25 / 9) / (1 / 18 + 16 / 18) = 50 / 17.
  const std::vector<double> a = {1, 2, 3};
  const std::vector<double> b = {4, 6, 8};
  EXPECT_NEAR(*WelchTTest(a, b), StudentTwoSided(4 / std::sqrt(5.0 / 3), 50.0 / 17), 1e-12);
  // Between what 2 and 3 degrees of freedom give.
  EXPECT_LT(*WelchTTest(a, b), StudentTwoSided(4 / std::sqrt(5.0 / 3), 2));
  EXPECT_GT(*WelchTTest(a, b), StudentTwoSided(4 / std::sqrt(5.0 / 3), 3));
  EXPECT_FALSE(WelchTTest(a, {1.0}).has_value());
  EXPECT_FALSE(WelchTTest({1.0}, a).has_value());
}

}  // namespace
}  // namespace weir::tools
