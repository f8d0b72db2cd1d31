#include "server/coordinator/evaluation.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

struct Rows {
  std::vector<float> scores;
  std::string labels;
};

ReportEvaluationRequest ReportOf(uint32_t rank, uint64_t number, const Rows& rows) {
  ReportEvaluationRequest request;
  request.set_worker_rank(rank);
  request.set_request(number);
  for (const float score : rows.scores) request.add_scores(score);
  request.set_labels(rows.labels);
  return request;
}

const Rows kRows = {{0.25f, 0.75f}, std::string("\0\1", 2)};

TEST(EvaluationTest, FiguresAreExact) {
  Evaluation evaluation(2);
  ASSERT_TRUE(evaluation.Add(ReportOf(0, 0, kRows)).ok());
  ASSERT_TRUE(evaluation.Add(ReportOf(1, 0, {{0.5f, 0.5f}, std::string("\0\0", 2)})).ok());
  EXPECT_EQ(evaluation.samples(), 4u);
  EXPECT_DOUBLE_EQ(evaluation.mean_label(), 0.25);
  const BinaryQuality quality = evaluation.Quality();
  EXPECT_DOUBLE_EQ(quality.auc, 1);
  EXPECT_NEAR(quality.logloss, -(2 * std::log(0.75) + 2 * std::log(0.5)) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(quality.calibration, 2);
}

TEST(EvaluationTest, ARetriedReportCountsOnce) {
  Evaluation evaluation(2);
  ASSERT_TRUE(evaluation.Add(ReportOf(0, 0, kRows)).ok());
  ASSERT_TRUE(evaluation.Add(ReportOf(0, 0, kRows)).ok());
  EXPECT_EQ(evaluation.samples(), 2u);
  ASSERT_TRUE(evaluation.Add(ReportOf(0, 1, kRows)).ok());
  ASSERT_TRUE(evaluation.Add(ReportOf(1, 0, kRows)).ok());
  EXPECT_EQ(evaluation.samples(), 6u);
}

TEST(EvaluationTest, BadReportsAddNothing) {
  Evaluation evaluation(1);
  EXPECT_TRUE(absl::IsInvalidArgument(evaluation.Add(ReportOf(0, 1, kRows))));
  EXPECT_TRUE(absl::IsInvalidArgument(evaluation.Add(ReportOf(0, 0, {{0.5f}, std::string("\0\0", 2)}))));
  EXPECT_TRUE(absl::IsInvalidArgument(evaluation.Add(ReportOf(0, 0, {{0.5f}, "\2"}))));
  EXPECT_TRUE(absl::IsInvalidArgument(evaluation.Add(ReportOf(0, 0, {{1.5f}, "\1"}))));
  EXPECT_TRUE(absl::IsInvalidArgument(evaluation.Add(ReportOf(0, 0, {{-0.5f}, "\1"}))));
  const absl::Status status = evaluation.Add(ReportOf(0, 0, {{std::numeric_limits<float>::quiet_NaN()}, "\1"}));
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("diverged"));
  EXPECT_EQ(evaluation.samples(), 0u);
  EXPECT_TRUE(evaluation.Add(ReportOf(0, 0, kRows)).ok());
}

}  // namespace
}  // namespace weir::server
