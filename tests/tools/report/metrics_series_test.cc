#include "tools/report/metrics_series.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir::tools {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Point number `index` (from 1) of a run whose windows hold 10, 20, 30... samples and last a second.
MetricsPoint PointAt(uint64_t index) {
  MetricsPoint point;
  point.seconds = static_cast<double>(index);
  point.samples = 5 * index * (index + 1);
  point.steps = index;
  point.logloss = 1.0 / static_cast<double>(index);
  point.auc = 0.5;
  point.samples_per_second = 10.0 * static_cast<double>(index);
  point.wire_bytes = {index, 2 * index, 0, 0, 0};
  return point;
}

// The mean log-loss of all samples, from the points.
double MeanLogLoss(const MetricsSeries& series) {
  double sum = 0;
  uint64_t before = 0;
  for (const MetricsPoint& point : series.points()) {
    sum += point.logloss * static_cast<double>(point.samples - before);
    before = point.samples;
  }
  return sum / static_cast<double>(before);
}

TEST(MetricsSeriesTest, KeepsEveryPointOfAShortRun) {
  MetricsSeries series;
  for (uint64_t i = 1; i <= MetricsSeries::kPointsMax; ++i) series.Append(PointAt(i));
  ASSERT_EQ(series.points().size(), MetricsSeries::kPointsMax);
  EXPECT_EQ(series.points()[41].samples, PointAt(42).samples);
}

// Merging loses detail and nothing else: whatever the length, counters end where the run ended and means stay those of all samples.
TEST(MetricsSeriesTest, LongRunsMergeWithoutBias) {
  for (const uint64_t appends : {601u, 1199u, 1200u, 1201u, 2400u, 5000u, 40001u}) {
    MetricsSeries series;
    for (uint64_t i = 1; i <= appends; ++i) series.Append(PointAt(i));
    EXPECT_LE(series.points().size(), MetricsSeries::kPointsMax);
    EXPECT_GT(series.points().size(), MetricsSeries::kPointsMax / 2 - 1) << appends;
    EXPECT_EQ(series.points().back().samples, PointAt(appends).samples);
    EXPECT_EQ(series.points().back().wire_bytes, PointAt(appends).wire_bytes);
    // Window i holds 10 i samples of log-loss 1 / i: 10 in all for each window.
    EXPECT_NEAR(MeanLogLoss(series), 10.0 * appends / static_cast<double>(PointAt(appends).samples), 1e-12) << appends;
    for (size_t i = 1; i < series.points().size(); ++i) EXPECT_LT(series.points()[i - 1].seconds, series.points()[i].seconds);
  }
}

TEST(MetricsSeriesTest, SpeedIsAMeanOverTime) {
  MetricsSeries series;
  for (uint64_t i = 1; i <= MetricsSeries::kPointsMax + 1; ++i) series.Append(PointAt(i));
  EXPECT_DOUBLE_EQ(series.points()[0].samples_per_second, 15);  // 10 and 20, a second each
  EXPECT_DOUBLE_EQ(series.points()[1].samples_per_second, 35);
}

TEST(MetricsSeriesTest, UnknownFiguresDoNotSpread) {
  MetricsSeries series;
  for (uint64_t i = 1; i <= MetricsSeries::kPointsMax + 1; ++i) {
    MetricsPoint point = PointAt(i);
    if (i == 1 || i == 4 || i == 5 || i == 6) point.auc = kNaN;
    point.codecs.resize(i == 2 ? 0 : 1, {0.25f, 1, 1});
    series.Append(std::move(point));
  }
  EXPECT_EQ(series.points()[0].auc, 0.5);
  EXPECT_EQ(series.points()[1].auc, 0.5);
  EXPECT_TRUE(std::isnan(series.points()[2].auc));
  ASSERT_EQ(series.points()[0].codecs.size(), 1u);
  EXPECT_EQ(series.points()[0].codecs[0].density, 0.25f);
}

TEST(MetricsSeriesTest, CodecsKeepTheirIndexAndAreBounded) {
  MetricsSeries series;
  EXPECT_EQ(series.CodecIndex("push", "C1"), 0);
  EXPECT_EQ(series.CodecIndex("lookup", "C1"), 1);
  EXPECT_EQ(series.CodecIndex("push", "C1"), 0);
  for (size_t i = 2; i < MetricsSeries::kCodecsMax; ++i) EXPECT_EQ(series.CodecIndex("dense", absl::StrCat(i)), static_cast<int>(i));
  EXPECT_EQ(series.CodecIndex("dense", "one more"), -1);
  EXPECT_EQ(series.CodecIndex("lookup", "C1"), 1);
  EXPECT_EQ(series.codecs()[1].edge, "lookup");
}

}  // namespace
}  // namespace weir::tools
