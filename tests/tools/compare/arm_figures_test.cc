#include "tools/compare/arm_figures.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/tools/compare/sample_comparison.h"

namespace weir::tools {
namespace {

constexpr double kRounding = 1e-12;

TEST(ArmFiguresTest, MeansOverFinishedRuns) {
  const Figures figures = FiguresOf(SampleComparison());
  const ArmFigures& small = figures.arms[1];
  EXPECT_EQ(small.finished, 2u);
  EXPECT_NEAR(small.logloss.here.mean, 0.525, kRounding);
  EXPECT_NEAR(small.logloss.here.spread, 0.03 / std::sqrt(2), kRounding);
  EXPECT_NEAR(small.ne.here.mean, 1.05, kRounding);
  EXPECT_NEAR(small.auc.here.mean, 0.475, kRounding);
  EXPECT_NEAR(small.seconds.mean, 15, kRounding);
  EXPECT_NEAR(small.samples_per_second.mean, 7.5, kRounding);
  EXPECT_EQ(small.edge_bytes[0], 0);
  EXPECT_EQ(small.edge_bytes[1], 5);
  EXPECT_EQ(small.edge_bytes[2], 5);
  EXPECT_EQ(small.bytes, 10);
  EXPECT_EQ(figures.arms[2].finished, 1u);
  EXPECT_TRUE(std::isnan(figures.arms[3].bytes));
  EXPECT_TRUE(std::isnan(figures.arms[3].logloss.here.mean));
}

TEST(ArmFiguresTest, ComparesSeedBySeed) {
  const Figures figures = FiguresOf(SampleComparison());
  const Quality& small = figures.arms[1].logloss;
  EXPECT_NEAR(small.difference.mean, 0.015, kRounding);
  EXPECT_NEAR(small.difference.spread, 0.01 / std::sqrt(2), kRounding);
  EXPECT_NEAR(small.relative, 0.015 / 0.51, kRounding);
  EXPECT_TRUE(small.paired);
  // Differences 0.01 and 0.02: t = 3 with one degree of freedom.
  EXPECT_NEAR(*small.p, 2 / M_PI * std::atan(1.0 / 3), 1e-9);
  // Against 0.52 of the same seed, not against plain's mean of 0.51.
  const Quality& half = figures.arms[2].logloss;
  EXPECT_NEAR(half.difference.mean, 0.01, kRounding);
  EXPECT_FALSE(half.p.has_value());
  EXPECT_FALSE(figures.arms[0].logloss.p.has_value()) << "an arm has nothing to say against itself";
}

TEST(ArmFiguresTest, WithoutSharedSeedsWelch) {
  Comparison comparison = SampleComparison();
  comparison.arms[1].cells[0].seed = 11;
  comparison.arms[1].cells[1].seed = 12;
  const Quality quality = FiguresOf(comparison).arms[1].logloss;
  EXPECT_FALSE(quality.paired);
  EXPECT_EQ(quality.p, WelchTTest({0.51, 0.54}, {0.50, 0.52}));
  EXPECT_TRUE(std::isnan(quality.difference.mean));
}

TEST(ArmFiguresTest, MarksTheFront) {
  const Figures figures = FiguresOf(SampleComparison());
  std::vector<bool> front;
  for (const ArmFigures& arm : figures.arms) front.push_back(arm.pareto);
  EXPECT_EQ(front, (std::vector<bool>{true, true, false, false, false}));
}

TEST(ArmFiguresTest, TheFirstArmThatTheJobTakesIsTheBase) {
  Comparison comparison = SampleComparison();
  EXPECT_EQ(FiguresOf(comparison).base, 0u);
  EXPECT_EQ(FiguresOf(comparison).references, std::vector<size_t>{0});
  comparison.arms[0].refused = "no";
  EXPECT_EQ(FiguresOf(comparison).base, 1u);
  EXPECT_EQ(FiguresOf(comparison).references, std::vector<size_t>{1});
}

// Nothing was held out, nothing was trained.
TEST(ArmFiguresTest, RunsWithoutFigures) {
  Comparison comparison = SampleComparison();
  for (Cell& cell : comparison.arms[1].cells) {
    cell.result.logloss.reset();
    cell.result.samples = 0;
  }
  const ArmFigures small = FiguresOf(comparison).arms[1];
  EXPECT_EQ(small.finished, 2u);
  EXPECT_TRUE(std::isnan(small.logloss.here.mean));
  EXPECT_TRUE(std::isnan(small.bytes));
  EXPECT_FALSE(small.pareto);
}

}  // namespace
}  // namespace weir::tools
