#include "tools/experiment/dct_paper.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"

namespace weir::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DctPaperTest, EveryArmIsAJobOfItsOwn) {
  const auto arms = PaperArms({});
  ASSERT_TRUE(arms.ok()) << arms.status();
  EXPECT_EQ(arms->size(), 26u);
  EXPECT_EQ(arms->front().name, "dense");
  const std::string text = PaperJob("paper", {{"/data/day \"1\".tsv"}, 26100, 500});
  std::set<uint64_t> hashes;
  for (const ArmSettings& arm : *arms) {
    const auto job = ParseJob(text, "paper.yaml", arm.sets);
    ASSERT_TRUE(job.ok()) << arm.name << ": " << job.status();
    EXPECT_EQ(job->data().train(0), "/data/day \"1\".tsv");
    EXPECT_TRUE(hashes.insert(JobHash(*job)).second) << arm.name;
  }
}

TEST(DctPaperTest, ArmsAreWhatTheirTablesSay) {
  const auto arms = PaperArms({"hybrid"});
  ASSERT_TRUE(arms.ok());
  ASSERT_EQ(arms->size(), 4u);
  const auto job = ParseJob(PaperJob("paper", {{"rows.tsv"}, 26100, 500}), "paper.yaml", (*arms)[2].sets);
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->model().cuts_size(), 2);
  EXPECT_EQ(job->model().cuts(0).after(), "bottom.1");
  EXPECT_EQ(job->model().cuts(1).after(), "top.1");
  EXPECT_EQ(job->model().cuts(1).method(), Cut::METHOD_EXACT);
  EXPECT_EQ(job->model().cuts(1).sparsity(), 0.9);
  EXPECT_EQ(job->compression().dense().sparsity(), 0.9);
  EXPECT_EQ(job->compression().dense().refresh_every(), 1000u);
  EXPECT_EQ(job->training().schedule().decay_start(), 100u);  // 25,600 rows, 200 steps
  EXPECT_EQ(job->training().schedule().decay_steps(), 100u);
}

TEST(DctPaperTest, AnUnknownTableIsNamedWithTheKnownOnes) {
  const absl::Status status = PaperArms({"dp", "mp3"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("mp3: no such table; there are mp1, mp2, laplace, dp"));
}

struct Figures {
  double logloss = 0;
  double auc = 0;
};

Arm ArmWith(const std::string& name, Figures figures, const std::string& edge, uint64_t kept) {
  Arm arm;
  arm.name = name;
  Cell cell;
  cell.seed = 1;
  cell.state = Cell::State::kDone;
  cell.result.logloss = figures.logloss;
  cell.result.auc = figures.auc;
  cell.result.ne = 0.8;
  cell.result.calibration = 1.01;
  cell.result.samples = 900;
  AccountLine line;
  line.edge = edge;
  line.entries = 1000;
  line.kept = kept;
  cell.result.account = {line};
  arm.cells = {cell};
  return arm;
}

TEST(DctPaperTest, TheReportSetsOursBesideThePublished) {
  Comparison comparison;
  comparison.seeds = {1};
  comparison.arms = {ArmWith("dense", {0.5, 0.75}, "", 0), ArmWith("dp-95", {0.5001, 0.75}, "dense", 60),
                     ArmWith("sketch-50", {0.51, 0.74}, "cut", 500), ArmWith("mp1-98", {0.49, 0.745}, "cut", 30),
                     ArmWith("mp1-75", {0.49, 0.755}, "cut", 250)};
  const std::string report = PaperReport(comparison);
  EXPECT_THAT(report, HasSubstr("| 95 % | 0.4538 | +0.00 % | 0.50010 | +0.02 % | 0.7500 | 1.010 | 6 % | as published: no cost |"));
  EXPECT_THAT(report, HasSubstr("| 50 % | 0.4618 | +1.76 % | 0.51000 | +2.00 % | 0.7400 | 1.010 | 50 % | as published: it costs |"));
  // A log-loss that falls with the AUC is no gain.
  EXPECT_THAT(report, HasSubstr("| 98 % | 0.4562 | +0.53 % | 0.49000 | -2.00 % | 0.7450 | 1.010 | 3 % | costs less than published |"));
  EXPECT_THAT(report, HasSubstr("| 75 % | 0.4532 | -0.13 % | 0.49000 | -2.00 % | 0.7550 | 1.010 | 25 % | as published: it helps |"));
  EXPECT_THAT(report, ContainsRegex("Here: 0.50000 dense, 1 seed, 900 rows trained, AUC 0.7500, calibration 1.010"));
  EXPECT_THAT(report, Not(HasSubstr("Laplace law")));
}

TEST(DctPaperTest, WithoutTheDenseArmNothingIsSaid) {
  Comparison comparison;
  comparison.seeds = {1};
  Arm dense;
  dense.name = "dense";
  dense.cells.emplace_back();
  comparison.arms = {dense};
  EXPECT_THAT(PaperReport(comparison), HasSubstr("The dense arm has no result"));
}

}  // namespace
}  // namespace weir::tools
