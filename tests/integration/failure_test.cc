// What a person sees when a job cannot go on: bad input with its place, a dead process with its name, and nothing left behind.
#include <signal.h>

#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/job_runner.h"

namespace weir::testing {
namespace {

class FailureTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runner_ = new JobRunner;
    runner_->Generate("rows.tsv", 2000);
    runner_->Generate("many.tsv", 200000);
  }
  static void TearDownTestSuite() { delete runner_; }

  // Launches a job that must fail, saying all of `words`.
  void ExpectFailure(const std::string& name, const std::string& data, const std::vector<std::string>& sets,
                     const std::vector<std::string>& words) {
    const CommandResult result = runner_->Launch(name, data, sets);
    EXPECT_EQ(result.exit_code, 1) << result.output;
    for (const std::string& word : words) EXPECT_TRUE(absl::StrContains(result.output, word)) << word << " not in:\n" << result.output;
    EXPECT_TRUE(runner_->LiveProcesses().empty());
  }

  // rows.tsv with line `number` (from 1) replaced.
  void WriteWithLine(const std::string& file, int number, const std::string& line) {
    std::vector<std::string> lines = absl::StrSplit(ReadFile(runner_->dir() + "/rows.tsv"), '\n');
    lines[number - 1] = line;
    WriteFile(absl::StrCat(runner_->dir(), "/", file), absl::StrJoin(lines, "\n"));
  }

  static JobRunner* runner_;
};

JobRunner* FailureTest::runner_ = nullptr;

std::string Line(const std::string& label, const std::string& first_integer, int categories) {
  std::string line = absl::StrCat(label, "\t", first_integer);
  for (int i = 1; i < 13; ++i) absl::StrAppend(&line, "\t", i);
  for (int i = 0; i < categories; ++i) absl::StrAppend(&line, "\tabcd", i);
  return line;
}

TEST_F(FailureTest, BadRowsNameFileAndLine) {
  WriteWithLine("columns.tsv", 700, Line("1", "5", 20));
  ExpectFailure("columns", "columns.tsv", {}, {"columns.tsv", "700", "column"});
  WriteWithLine("label.tsv", 701, Line("2", "5", 26));
  ExpectFailure("label", "label.tsv", {}, {"label.tsv", "701", "label"});
  WriteWithLine("number.tsv", 702, Line("1", "nan", 26));
  ExpectFailure("number", "number.tsv", {}, {"number.tsv", "702"});
}

TEST_F(FailureTest, BadRowsAreSkippedOnlyWhenTheJobSaysSo) {
  WriteWithLine("skipped.tsv", 700, Line("1", "5", 20));
  const nlohmann::json result = runner_->Train("skipped", "skipped.tsv", {"data.on_bad_row=skip"});
  EXPECT_EQ(result["bad_rows"], 1);
  EXPECT_EQ(result["samples"], 1499);
}

TEST_F(FailureTest, MissingDataIsNamed) { ExpectFailure("missing", "nowhere.tsv", {}, {"nowhere.tsv"}); }

TEST_F(FailureTest, TruncatedArchiveIsNamed) {
  const std::string plain = runner_->dir() + "/rows.tsv";
  ASSERT_EQ(RunningCommand({"/bin/sh", "-c", absl::StrCat("gzip -c ", plain, " | head -c 50000 > ", runner_->dir(), "/cut.tsv.gz")})
                .Wait()
                .exit_code,
            0);
  ExpectFailure("cut", "cut.tsv.gz", {}, {"cut.tsv.gz"});
}

TEST_F(FailureTest, CompressedDataTrainsAsPlain) {
  const std::string dir = runner_->dir();
  ASSERT_EQ(RunningCommand({"/bin/sh", "-c", absl::StrCat("gzip -c ", dir, "/rows.tsv > ", dir, "/rows.tsv.gz")}).Wait().exit_code, 0);
  const auto plain = runner_->Train("plain-file", "rows.tsv", {"training.deterministic=true"});
  const auto packed = runner_->Train("packed-file", "rows.tsv.gz", {"training.deterministic=true"});
  EXPECT_EQ(plain["fingerprint"], packed["fingerprint"]);
}

// A job that would run for a minute, to be disturbed once it trains.
std::unique_ptr<RunningCommand> StartLongJob(const JobRunner& runner, const std::string& name) {
  auto command = std::make_unique<RunningCommand>(
      runner.LaunchCommand(name, "many.tsv", {"training.epochs=50", "training.batch_size=64", "output.metrics_every_seconds=0.1"}));
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (ReadFile(runner.RunDir(name) + "/metrics.jsonl").empty() && absl::Now() < deadline) std::this_thread::yield();
  return command;
}

TEST_F(FailureTest, DeadProcessEndsTheJobAndIsNamed) {
  for (const std::string role : {"worker", "server", "coordinator"}) {
    const std::string name = absl::StrCat("kill-", role);
    const auto command = StartLongJob(*runner_, name);
    const pid_t victim = runner_->ProcessOf(absl::StrCat("weir-", role), 0);
    ASSERT_NE(victim, 0) << role;
    kill(victim, SIGKILL);
    const CommandResult result = command->Wait();
    EXPECT_EQ(result.exit_code, 1) << result.output;
    EXPECT_TRUE(absl::StrContains(result.output, role)) << result.output;
    EXPECT_TRUE(absl::StrContains(result.output, absl::StrCat(victim))) << result.output;
    EXPECT_TRUE(absl::StrContains(result.output, "signal 9")) << result.output;
    EXPECT_TRUE(runner_->LiveProcesses().empty()) << role;
  }
}

TEST_F(FailureTest, InterruptLeavesNoProcessBehind) {
  const auto command = StartLongJob(*runner_, "interrupt");
  EXPECT_GE(runner_->LiveProcesses().size(), 6u) << "launcher, coordinator, two servers, two workers";
  command->Signal(SIGINT);
  EXPECT_EQ(command->Wait().exit_code, 130);
  EXPECT_TRUE(runner_->LiveProcesses().empty());
}

TEST_F(FailureTest, KilledLauncherLeavesNoProcessBehind) {
  const auto command = StartLongJob(*runner_, "killed");
  command->Signal(SIGKILL);
  EXPECT_EQ(command->Wait().exit_code, 128 + SIGKILL);
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!runner_->LiveProcesses().empty() && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(runner_->LiveProcesses().empty());
}

}  // namespace
}  // namespace weir::testing
