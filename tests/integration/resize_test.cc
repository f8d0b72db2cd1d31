// A job gets other numbers of servers while it trains, and ends with the same bits.
#include <signal.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/job_runner.h"

namespace weir::testing {
namespace {

using Json = nlohmann::json;
using Sets = std::vector<std::string>;

class ResizeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runner_ = new JobRunner;
    runner_->Generate("rows.tsv", 20500);
  }
  static void TearDownTestSuite() { delete runner_; }

  static Sets With(const Sets& more) {
    Sets sets = {"training.deterministic=true", "training.epochs=6"};
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
  }
  static std::vector<std::string> ResizeCommand(const std::string& name, int servers) {
    const std::string weir = runner_->LaunchCommand(name, "rows.tsv", {})[0];
    return {weir, "resize", runner_->RunDir(name), "--servers", absl::StrCat(servers)};
  }
  static CommandResult Resize(const std::string& name, int servers) { return RunningCommand(ResizeCommand(name, servers)).Wait(); }
  // Until the job has trained that many steps.
  static bool WaitForSteps(const std::string& name, int64_t wanted) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (absl::Now() < deadline) {
      for (const absl::string_view line : absl::StrSplit(ReadFile(runner_->RunDir(name) + "/metrics.jsonl"), '\n')) {
        const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
        if (json.is_object() && json.value("steps", int64_t{0}) >= wanted) return true;
      }
      std::this_thread::yield();
    }
    return false;
  }
  static Json ResultOf(const std::string& name) { return Json::parse(ReadFile(runner_->RunDir(name) + "/result.json")); }
  static void ExpectSameTraining(const Json& result, const Json& undisturbed) {
    EXPECT_EQ(result["fingerprint"], undisturbed["fingerprint"]);
    EXPECT_EQ(result["logloss"], undisturbed["logloss"]);
    EXPECT_EQ(result["samples"], undisturbed["samples"]);
    EXPECT_EQ(result["steps"], undisturbed["steps"]);
    EXPECT_EQ(result["rows_held"], undisturbed["rows_held"]);
  }

  static JobRunner* runner_;
};

JobRunner* ResizeTest::runner_ = nullptr;

TEST_F(ResizeTest, AJobThatGrowsAndShrinksEndsWithTheSameBits) {
  struct Codecs {
    const char* name;
    Sets sets;
  };
  const std::vector<Codecs> cases = {
      {"whole", {"checkpoint.every=100"}},
      {"thresholds", {"compression.push.method=dct", "compression.dense.method=dct"}},
      {"ahead", {"training.prefetch=3", "embeddings.optimizer.type=adam"}},
  };
  for (const Codecs& codecs : cases) {
    SCOPED_TRACE(codecs.name);
    const std::string fixed = absl::StrCat(codecs.name, "-fixed"), resized = absl::StrCat(codecs.name, "-resized");
    const Json undisturbed = runner_->Train(fixed, "rows.tsv", With(codecs.sets));
    RunningCommand job(runner_->LaunchCommand(resized, "rows.tsv", With(codecs.sets)));
    ASSERT_TRUE(WaitForSteps(resized, 1));
    const CommandResult grown = Resize(resized, 4);
    EXPECT_EQ(grown.exit_code, 0) << grown.output;
    EXPECT_TRUE(absl::StrContains(grown.output, "4 servers instead of 2")) << grown.output;
    EXPECT_EQ(runner_->ProcessOf("weir-server", 4), 0);
    EXPECT_NE(runner_->ProcessOf("weir-server", 3), 0);
    const CommandResult shrunk = Resize(resized, 1);
    EXPECT_EQ(shrunk.exit_code, 0) << shrunk.output;
    const CommandResult result = job.Wait();
    ASSERT_EQ(result.exit_code, 0) << result.output;
    ExpectSameTraining(ResultOf(resized), undisturbed);
    EXPECT_EQ(ResultOf(resized)["servers"], 1);
    EXPECT_FALSE(absl::StrContains(result.output, "start again")) << result.output;
    EXPECT_TRUE(runner_->LiveProcesses().empty());
  }
}

// What a worker held of rows is given up: later values are not the same bits, but as good.
TEST_F(ResizeTest, EveryScopeGoesOn) {
  const std::vector<Sets> cases = {{"compression.lookup.method=dct", "compression.lookup.scope=change"},
                                   {"compression.lookup.method=dct", "compression.lookup.scope=sample"},
                                   {"training.deterministic=false", "training.staleness=2"},
                                   {"training.deterministic=false", "training.staleness=-1"}};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const std::string name = absl::StrCat("scope-", i);
    RunningCommand job(runner_->LaunchCommand(name, "rows.tsv", With(cases[i])));
    ASSERT_TRUE(WaitForSteps(name, 1));
    const CommandResult grown = Resize(name, 3);
    EXPECT_EQ(grown.exit_code, 0) << grown.output;
    const CommandResult result = job.Wait();
    ASSERT_EQ(result.exit_code, 0) << result.output;
    EXPECT_EQ(ResultOf(name)["samples"], 6 * 20000);
    EXPECT_EQ(ResultOf(name)["servers"], 3);
  }
}

// Whoever dies while shards move: all go on from the latest checkpoint, with the new number of servers.
TEST_F(ResizeTest, AProcessThatIsKilledMeanwhileChangesNothing) {
  const Sets sets = With({"checkpoint.every=20", "checkpoint.restarts=100"});
  const Json undisturbed = runner_->Train("kill-none", "rows.tsv", sets);
  const std::vector<std::string> roles = {"weir-server", "weir-worker", "weir-coordinator"};
  for (size_t i = 0; i < roles.size(); ++i) {
    SCOPED_TRACE(roles[i]);
    const std::string name = absl::StrCat("kill-", roles[i]);
    RunningCommand job(runner_->LaunchCommand(name, "rows.tsv", sets));
    ASSERT_TRUE(WaitForSteps(name, 30));
    RunningCommand resize(ResizeCommand(name, 4));
    ASSERT_TRUE(resize.WaitForOutput("shards have moved"));
    const pid_t victim = runner_->ProcessOf(roles[i], 0);
    if (victim != 0) kill(victim, SIGKILL);
    const CommandResult result = job.Wait();
    ASSERT_EQ(result.exit_code, 0) << result.output;
    ExpectSameTraining(ResultOf(name), undisturbed);
    EXPECT_EQ(ResultOf(name)["servers"], 4);
  }
}

// Once the checkpoint behind the change is there, servers come back alone again: with the shards that they own now.
TEST_F(ResizeTest, ServersComeBackAloneAfterwards) {
  const Sets sets = With({"checkpoint.every=100000", "checkpoint.restarts=100"});
  const Json undisturbed = runner_->Train("back-none", "rows.tsv", sets);
  RunningCommand job(runner_->LaunchCommand("back", "rows.tsv", sets));
  ASSERT_TRUE(WaitForSteps("back", 1));
  const CommandResult grown = Resize("back", 3);
  ASSERT_EQ(grown.exit_code, 0) << grown.output;
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (ReadFile(runner_->RunDir("back") + "/checkpoints/latest").empty() && absl::Now() < deadline) std::this_thread::yield();
  const pid_t victim = runner_->ProcessOf("weir-server", 2);
  ASSERT_NE(victim, 0);
  kill(victim, SIGKILL);
  const CommandResult result = job.Wait();
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(absl::StrContains(result.output, "it comes back alone")) << result.output;
  ExpectSameTraining(ResultOf("back"), undisturbed);
}

TEST_F(ResizeTest, WhatCannotBeSaysWhy) {
  const CommandResult nobody = Resize("never", 2);
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(nobody.output, "name the run folder of a job that runs")) << nobody.output;
  RunningCommand job(runner_->LaunchCommand("few-shards", "rows.tsv", With({"cluster.shards=8"})));
  ASSERT_TRUE(WaitForSteps("few-shards", 1));
  const CommandResult many = Resize("few-shards", 9);
  EXPECT_EQ(many.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(many.output, "servers is 9, it must be 1 to 8")) << many.output;
  EXPECT_EQ(job.Wait().exit_code, 0);
}

}  // namespace
}  // namespace weir::testing
