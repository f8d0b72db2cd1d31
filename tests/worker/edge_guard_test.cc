#include "worker/edge_guard.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace weir::worker {
namespace {

// A window is so long that no density needs two.
constexpr EdgeGuardOptions kOptions = {0.001, 2, 1e6, 0.99};

// One window of probes that all say `cost`.
EdgeGuard::Verdict Window(EdgeGuard* guard, double cost, uint32_t probes = kOptions.window) {
  for (uint32_t i = 0; i + 1 < probes; ++i) EXPECT_FALSE(guard->Add(cost).has_value());
  const auto verdict = guard->Add(cost);
  EXPECT_TRUE(verdict.has_value());
  return verdict.value_or(EdgeGuard::Verdict());
}

TEST(EdgeGuardTest, BeginsWholeAndComesDownToWhatTheJobAsksFor) {
  EdgeGuard guard(kOptions);
  EXPECT_NEAR(guard.factor(), 100, 1e-9);
  std::vector<double> sparsities;
  for (int i = 0; i < 5; ++i) sparsities.push_back(Window(&guard, 0).sparsity_after);
  EXPECT_NEAR(sparsities[0], 0.75, 1e-12);
  EXPECT_NEAR(sparsities[1], 0.9375, 1e-12);
  EXPECT_NEAR(sparsities[2], 0.984375, 1e-12);
  EXPECT_EQ(sparsities[3], 0.99);
  EXPECT_EQ(sparsities[4], 0.99);
  EXPECT_EQ(guard.factor(), 1);
}

TEST(EdgeGuardTest, JudgesTheMedianOfAWindow) {
  EdgeGuard guard({0.001, 4, 1e6, 0.99});
  EXPECT_FALSE(guard.Add(0.5).has_value());
  EXPECT_FALSE(guard.Add(-0.009).has_value());
  EXPECT_FALSE(guard.Add(0.0002).has_value());
  const auto verdict = guard.Add(0.0004);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_NEAR(verdict->cost, 0.0003, 1e-12);
  EXPECT_LT(verdict->sparsity_before, verdict->sparsity_after);
  // The next window starts from nothing.
  EXPECT_NEAR(Window(&guard, 0.0002, 4).cost, 0.0002, 1e-12);
}

// What is held back grows for about 1 / density steps: nothing is known of a density before.
TEST(EdgeGuardTest, WaitsUntilADensityShowsWhatItCosts) {
  EdgeGuard guard({0.001, 1, 10, 0.999});
  std::vector<int> windows = {0};
  double sparsity = 0;
  for (int i = 0; i < 60; ++i) {
    const auto verdict = guard.Add(0);
    ASSERT_TRUE(verdict.has_value());
    ++windows.back();
    if (verdict->sparsity_after == sparsity) continue;
    sparsity = verdict->sparsity_after;
    windows.push_back(0);
  }
  // Densities 1, 1/4, 1/16, 1/64, 1/256: steps 1, 4, 16, 64, 256 in windows of ten; then 0.001, where it stays.
  EXPECT_EQ(windows, std::vector<int>({1, 1, 2, 7, 26, 23}));
  EXPECT_EQ(sparsity, 0.999);
}

TEST(EdgeGuardTest, AFailureSendsEverythingAndIsNotRepeatedSoon) {
  EdgeGuard guard(kOptions);
  Window(&guard, 0);
  Window(&guard, 0);
  Window(&guard, 0);
  const EdgeGuard::Verdict failure = Window(&guard, 0.002);  // at 0.984375
  EXPECT_NEAR(failure.sparsity_before, 0.984375, 1e-12);
  EXPECT_EQ(failure.sparsity_after, 0);
  EXPECT_NEAR(Window(&guard, 0).sparsity_after, 0.75, 1e-12);
  EXPECT_NEAR(Window(&guard, 0).sparsity_after, 0.9375, 1e-12);  // four times the density that failed
  for (int calm = 0; calm < 7; ++calm) EXPECT_NEAR(Window(&guard, 0).sparsity_after, 0.9375, 1e-12) << calm;
  // After eight calm windows it tries again.
  EXPECT_NEAR(Window(&guard, 0).sparsity_after, 0.984375, 1e-12);
}

TEST(EdgeGuardTest, EachFailureDoublesTheWait) {
  EdgeGuard guard(kOptions);
  size_t calm_before = 0;
  for (int failure = 0; failure < 4; ++failure) {
    size_t windows = 0;
    while (Window(&guard, 0).sparsity_after < 0.98) ++windows;
    Window(&guard, 1);
    EXPECT_GT(windows, failure == 0 ? 0 : calm_before + calm_before / 2) << failure;
    calm_before = windows;
  }
}

TEST(EdgeGuardTest, HoldsBetweenHalfTheBoundAndTheBound) {
  EdgeGuard guard(kOptions);
  Window(&guard, 0);
  const EdgeGuard::Verdict verdict = Window(&guard, 0.0008);
  EXPECT_EQ(verdict.sparsity_before, verdict.sparsity_after);
}

TEST(EdgeGuardTest, WhatIsNoNumberIsTooMuch) {
  EdgeGuard guard(kOptions);
  Window(&guard, 0);
  EXPECT_EQ(Window(&guard, std::numeric_limits<double>::quiet_NaN()).sparsity_after, 0);
  EXPECT_EQ(Window(&guard, 0).cost, 0);
}

// Whatever comes, an edge is never sparser than the job says, and never denser than whole.
TEST(EdgeGuardTest, StaysWithinWholeAndTheJob) {
  for (const double sparsity : {0.0, 0.5, 0.9, 0.9999}) {
    EdgeGuard guard({0.001, 1, 1e6, sparsity});
    uint64_t state = 7;
    for (int i = 0; i < 2000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto verdict = guard.Add((state >> 40) % 5 == 0 ? 0.01 : 0.0001);
      ASSERT_TRUE(verdict.has_value());
      EXPECT_GE(verdict->sparsity_after, 0);
      EXPECT_LE(verdict->sparsity_after, sparsity);
      EXPECT_GE(guard.factor(), 1);
    }
  }
}

}  // namespace
}  // namespace weir::worker
