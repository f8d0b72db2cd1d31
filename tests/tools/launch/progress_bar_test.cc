#include "tools/launch/progress_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace weir::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

StatusReply Halfway() {
  StatusReply status;
  status.set_state(StatusReply::STATE_TRAINING);
  status.set_samples(500000);
  status.set_total_samples(1000000);
  status.set_seconds(10);
  status.set_logloss(0.45678);
  status.set_auc(0.7654);
  status.mutable_wire_bytes()->set_lookup_request(1000000);
  status.mutable_wire_bytes()->set_lookup_reply(2000000);
  status.mutable_wire_bytes()->set_push(3000000);
  status.mutable_wire_bytes()->set_dense(4000000);
  status.mutable_wire_bytes()->set_control(5000);
  return status;
}

Cluster TwoByTwo() {
  Cluster cluster;
  cluster.set_servers(2);
  cluster.set_workers(2);
  return cluster;
}

TEST(ProgressLineTest, ShowsAllThatMatters) {
  const std::string line = ProgressLine(Halfway(), TwoByTwo(), 50000, 300);
  EXPECT_THAT(line, StartsWith(" 50%  [############------------]  50.0k samples/s  log-loss 0.4568  AUC 0.7654  wire: lookup "));
  EXPECT_THAT(line, HasSubstr("lookup 1.00 MB + 2.00 MB, push 3.00 MB, dense 4.00 MB, control 5.00 kB"));
  EXPECT_THAT(line, HasSubstr("10.0 s left"));
}

TEST(ProgressLineTest, FitsEveryWidth) {
  for (int columns = 4; columns < 250; ++columns) {
    EXPECT_LE(ProgressLine(Halfway(), TwoByTwo(), 50000, columns).size(), columns);
    EXPECT_THAT(ProgressLine(Halfway(), TwoByTwo(), 50000, columns), StartsWith(" 50%"));
  }
  EXPECT_THAT(ProgressLine(Halfway(), TwoByTwo(), 50000, 150), HasSubstr("push 3.00 MB, dense 4.00 MB"));
  EXPECT_THAT(ProgressLine(Halfway(), TwoByTwo(), 50000, 100), HasSubstr("wire 10.0 MB"));
}

TEST(ProgressLineTest, UnknownTotalHasNoBarAndNoEnd) {
  StatusReply status = Halfway();
  status.clear_total_samples();
  const std::string line = ProgressLine(status, TwoByTwo(), 50000, 300);
  EXPECT_THAT(line, StartsWith("500k  50.0k samples/s"));
  EXPECT_THAT(line, Not(HasSubstr("left")));
}

TEST(ProgressLineTest, MoreSamplesThanAnnouncedStayInTheBar) {
  StatusReply status = Halfway();
  status.set_total_samples(100);
  EXPECT_THAT(ProgressLine(status, TwoByTwo(), 1, 300), StartsWith("100%  [########################]"));
}

TEST(ProgressLineTest, SaysWhatItWaitsFor) {
  StatusReply status;
  status.set_state(StatusReply::STATE_STARTING);
  status.set_servers_registered(1);
  EXPECT_EQ(ProgressLine(status, TwoByTwo(), 0, 300), "starting: 1/2 servers, 0/2 workers");
  status.set_state(StatusReply::STATE_EVALUATING);
  status.set_evaluated(1200);
  EXPECT_EQ(ProgressLine(status, TwoByTwo(), 0, 300), "evaluating: 1.20k held-out rows");
  status.set_state(StatusReply::STATE_FAILED);
  status.set_reason("worker 1 is silent");
  EXPECT_EQ(ProgressLine(status, TwoByTwo(), 0, 300), "failed: worker 1 is silent");
}

TEST(ProgressBarTest, WithoutATerminalItPrintsWholeLinesAndNotTooMany) {
  std::FILE* const file = std::tmpfile();
  {
    ProgressBar bar(file, TwoByTwo());
    for (int i = 0; i < 100; ++i) bar.Show(Halfway());
  }
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, HasSubstr("50.0k samples/s"));  // the average, until there is a window
}

}  // namespace
}  // namespace weir::tools
