#include "server/coordinator/run_totals.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::server {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

// Two samples, well told apart.
WorkerProgress ProgressOf(double logloss_sum) {
  WorkerProgress progress;
  progress.set_phase(WorkerProgress::PHASE_TRAINING);
  progress.mutable_window()->set_samples(2);
  progress.mutable_window()->set_logloss_sum(logloss_sum);
  progress.mutable_window()->mutable_positives()->Resize(kScoreBins, 0);
  progress.mutable_window()->mutable_negatives()->Resize(kScoreBins, 0);
  progress.mutable_window()->set_positives(kScoreBins - 1, 1);
  progress.mutable_window()->set_negatives(0, 1);
  return progress;
}

TEST(RunTotalsTest, AWindowCountsOnce) {
  RunTotals totals(2);
  ASSERT_TRUE(totals.Add({0, 1, kNow}, ProgressOf(1)).ok());
  ASSERT_TRUE(totals.Add({0, 1, kNow}, ProgressOf(1)).ok());  // a retry
  ASSERT_TRUE(totals.Add({1, 1, kNow}, ProgressOf(3)).ok());
  ASSERT_TRUE(totals.Add({0, 2, kNow}, ProgressOf(2)).ok());
  ASSERT_TRUE(totals.Add({0, 1, kNow}, ProgressOf(1)).ok());  // late
  EXPECT_EQ(totals.line_samples(), 6u);
  const QualityWindow window = totals.TakeLine().quality;
  EXPECT_DOUBLE_EQ(window.logloss(), 1);
  EXPECT_DOUBLE_EQ(window.auc(), 1);
  EXPECT_EQ(totals.line_samples(), 0u);
}

TEST(RunTotalsTest, RecentIsTheLastFullSecond) {
  RunTotals totals(1);
  EXPECT_TRUE(std::isnan(totals.recent().logloss()));
  ASSERT_TRUE(totals.Add({0, 1, kNow}, ProgressOf(2)).ok());
  EXPECT_DOUBLE_EQ(totals.recent().logloss(), 1);
  ASSERT_TRUE(totals.Add({0, 2, kNow + absl::Milliseconds(900)}, ProgressOf(6)).ok());
  EXPECT_DOUBLE_EQ(totals.recent().logloss(), 2);
  ASSERT_TRUE(totals.Add({0, 3, kNow + absl::Milliseconds(1000)}, ProgressOf(100)).ok());
  EXPECT_DOUBLE_EQ(totals.recent().logloss(), 2);
  ASSERT_TRUE(totals.Add({0, 4, kNow + absl::Milliseconds(2000)}, ProgressOf(1)).ok());
  EXPECT_DOUBLE_EQ(totals.recent().logloss(), 50);
}

TEST(RunTotalsTest, FiguresOfAllWorkersAreSummed) {
  RunTotals totals(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    WorkerProgress progress;
    progress.set_samples(100);
    progress.set_steps(10 + rank);
    progress.set_bad_rows(3);
    progress.set_wait_seconds(0.5);
    progress.mutable_wire_bytes()->set_push(7);
    ASSERT_TRUE(totals.Add({rank, 1, kNow}, progress).ok());
  }
  EXPECT_EQ(totals.samples(), 200u);
  EXPECT_EQ(totals.steps(), 11);
  EXPECT_EQ(totals.bad_rows(), 6u);
  EXPECT_DOUBLE_EQ(totals.wait_seconds(), 1);
  EXPECT_EQ(totals.wire_bytes().push(), 14u);

  LeaveRequest leave;
  leave.set_index(1);
  leave.set_samples(150);
  leave.set_train_seconds(4);
  leave.mutable_wire_bytes()->set_push(9);
  leave.mutable_wire_bytes_evaluation()->set_push(2);
  totals.AddLeave(leave);
  EXPECT_EQ(totals.samples(), 250u);
  EXPECT_DOUBLE_EQ(totals.train_seconds(), 4);
  EXPECT_EQ(totals.wire_bytes().push(), 16u);
  EXPECT_EQ(totals.wire_bytes_evaluation().push(), 2u);
  EXPECT_EQ(SubtractWireBytes(totals.wire_bytes(), totals.wire_bytes_evaluation()).push(), 14u);
}

TEST(RunTotalsTest, PastTrainingMeansEveryWorker) {
  RunTotals totals(2);
  WorkerProgress progress;
  progress.set_phase(WorkerProgress::PHASE_EVALUATING);
  ASSERT_TRUE(totals.Add({1, 1, kNow}, progress).ok());
  EXPECT_FALSE(totals.AllPastTraining());
  ASSERT_TRUE(totals.Add({0, 1, kNow}, progress).ok());
  EXPECT_TRUE(totals.AllPastTraining());
}

TEST(RunTotalsTest, CodecsOfWorkerZeroSinceTheLastLine) {
  RunTotals totals(2);
  WorkerProgress progress;
  CodecReport* codec = progress.add_codecs();
  codec->set_edge("push");
  codec->set_name("C1");
  codec->set_entries(100);
  codec->set_kept(10);
  codec->set_threshold(0.1);
  codec->set_residual_norm(3);
  codec->set_gradient_norm(2);
  ASSERT_TRUE(totals.Add({0, 1, kNow}, progress).ok());
  ASSERT_TRUE(totals.Add({1, 1, kNow}, progress).ok());
  codec->set_kept(30);
  codec->set_threshold(0.2);
  ASSERT_TRUE(totals.Add({0, 2, kNow}, progress).ok());
  const std::vector<CodecLine> codecs = totals.TakeLine().codecs;
  ASSERT_EQ(codecs.size(), 1u);
  EXPECT_EQ(codecs[0].edge, "push");
  EXPECT_EQ(codecs[0].name, "C1");
  EXPECT_DOUBLE_EQ(codecs[0].density, 0.2);
  EXPECT_DOUBLE_EQ(codecs[0].threshold, 0.2);
  EXPECT_DOUBLE_EQ(codecs[0].residual_ratio, 1.5);
  EXPECT_TRUE(totals.TakeLine().codecs.empty());
}

TEST(RunTotalsTest, AccountsOfWorkersThatLeftAddUp) {
  RunTotals totals(2);
  for (uint32_t rank : {0, 1}) {
    LeaveRequest leave;
    leave.set_index(rank);
    leave.mutable_step_seconds()->set_forward(1.5 + rank);
    leave.mutable_step_waits()->set_lookup(10 + rank);
    leave.mutable_step_waits()->set_push(20);
    leave.mutable_step_waits()->set_reduce(rank);
    CodecReport* codec = leave.add_codecs();
    codec->set_edge("lookup");
    codec->set_name("C1");
    codec->set_key_bytes(10);
    codec->set_mask_bytes(20);
    codec->set_value_bytes(30);
    codec->set_header_bytes(40);
    codec->set_seconds(0.25);
    if (rank == 0) {  // the other one's lookups were all of new rows
      codec->set_entries(7);
      codec->set_kept(3);
      codec->set_density_asked(0.5);
    }
    totals.AddLeave(leave);
  }
  ASSERT_EQ(totals.codecs().size(), 1u);
  const CodecReport sum = totals.codecs()[0];
  EXPECT_EQ(sum.key_bytes(), 20u);
  EXPECT_EQ(sum.mask_bytes(), 40u);
  EXPECT_EQ(sum.value_bytes(), 60u);
  EXPECT_EQ(sum.header_bytes(), 80u);
  EXPECT_EQ(sum.seconds(), 0.5);
  EXPECT_EQ(sum.entries(), 7u);
  EXPECT_EQ(sum.kept(), 3u);
  EXPECT_EQ(sum.density_asked(), 0.5);
  EXPECT_EQ(totals.step_seconds().forward(), 4);
  EXPECT_EQ(totals.step_waits().lookup(), 21u);
  EXPECT_EQ(totals.step_waits().push(), 40u);
  EXPECT_EQ(totals.step_waits().reduce(), 1u);
}

TEST(RunTotalsTest, DecisionsOfAllWorkersSinceTheLastLine) {
  RunTotals totals(2);
  WorkerProgress progress;
  GuardDecision* const decision = progress.add_decisions();
  decision->set_edge("push");
  decision->set_step(40);
  ASSERT_TRUE(totals.Add({0, 1, kNow}, progress).ok());
  ASSERT_TRUE(totals.Add({0, 1, kNow}, progress).ok());  // the same heartbeat again
  LeaveRequest leave;
  leave.set_index(1);
  *leave.add_decisions() = *decision;
  totals.AddLeave(leave);
  EXPECT_EQ(totals.line_decisions(), 2u);
  EXPECT_EQ(totals.TakeLine().decisions.size(), 2u);
  EXPECT_EQ(totals.line_decisions(), 0u);
  decision->set_edge(std::string(1000, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(totals.Add({0, 2, kNow}, progress)));
}

TEST(RunTotalsTest, AMalformedReportChangesNothing) {
  RunTotals totals(1);
  WorkerProgress progress = ProgressOf(1);
  progress.mutable_window()->add_positives(1);
  EXPECT_TRUE(absl::IsInvalidArgument(totals.Add({0, 1, kNow}, progress)));
  EXPECT_EQ(totals.line_samples(), 0u);
  EXPECT_TRUE(totals.Add({0, 1, kNow}, ProgressOf(1)).ok());
  EXPECT_EQ(totals.line_samples(), 2u);
}

}  // namespace
}  // namespace weir::server
