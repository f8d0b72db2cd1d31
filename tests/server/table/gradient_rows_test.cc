#include "server/table/gradient_rows.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <vector>

namespace weir::server {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

GradientRows Rows(std::vector<Key> keys, std::vector<float> gradients) {
  GradientRows rows;
  rows.keys = std::move(keys);
  rows.gradients = std::move(gradients);
  return rows;
}

TEST(DropUnusableRows, KeepsWhatSaysSomethingInOrder) {
  GradientRows rows = Rows({1, 2, 3, 4, 5, 6, 7}, {1, 0,           // kept
                                                   0, -0.0f,       // says nothing
                                                   kNan, 1,        // refused
                                                   0, -3,          // kept
                                                   1, -kInfinity,  // refused
                                                   kMax, -kMax,    // kept: large, but a number
                                                   1e-45f, 0});    // kept: the smallest number there is
  std::vector<Key> not_finite = {99};
  DropUnusableRows(2, &rows, &not_finite);
  EXPECT_EQ(rows.keys, (std::vector<Key>{1, 4, 6, 7}));
  EXPECT_EQ(rows.gradients, (std::vector<float>{1, 0, 0, -3, kMax, -kMax, 1e-45f, 0}));
  EXPECT_EQ(not_finite, (std::vector<Key>{99, 3, 5}));
}

TEST(DropUnusableRows, TakesNothing) {
  GradientRows rows;
  std::vector<Key> not_finite;
  DropUnusableRows(4, &rows, &not_finite);
  EXPECT_TRUE(rows.keys.empty() && rows.gradients.empty() && not_finite.empty());
}

TEST(SumByKey, IsTheSumInTheOrderGivenToTheBit) {
  std::mt19937_64 random(3);
  std::vector<GradientRows> parts(5);
  std::map<Key, float> twin;
  for (GradientRows& part : parts) {
    for (int i = 0; i < 300; ++i) {
      const Key key = random() % 100;
      const float value = static_cast<float>(random() % 100000) * 1e-3f - 50;
      part.keys.push_back(key);
      part.gradients.push_back(value);
      twin[key] += value;
    }
  }
  std::vector<const GradientRows*> pointers;
  for (const GradientRows& part : parts) pointers.push_back(&part);
  std::vector<Key> not_finite;
  const GradientRows sum = SumByKey(1, pointers, &not_finite);
  EXPECT_TRUE(sum.distinct);
  ASSERT_EQ(sum.keys.size(), twin.size());
  for (size_t i = 0; i < sum.keys.size(); ++i) EXPECT_EQ(sum.gradients[i], twin.at(sum.keys[i]));
  EXPECT_TRUE(not_finite.empty());
}

TEST(SumByKey, SumsThatOverflowOrVanishAreDropped) {
  const GradientRows a = Rows({1, 2, 3}, {kMax, 1, 5});
  const GradientRows b = Rows({1, 2, 4}, {kMax, -1, 6});
  std::vector<Key> not_finite;
  const GradientRows sum = SumByKey(1, {&a, &b}, &not_finite);
  EXPECT_EQ(sum.keys, (std::vector<Key>{3, 4}));
  EXPECT_EQ(sum.gradients, (std::vector<float>{5, 6}));
  EXPECT_EQ(not_finite, (std::vector<Key>{1}));
}

}  // namespace
}  // namespace weir::server
