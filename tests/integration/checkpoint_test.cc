// A job that is stopped, or whose processes are killed, goes on from its latest checkpoint and ends with the same bits.
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/job_runner.h"

namespace weir::testing {
namespace {

using Json = nlohmann::json;
using Sets = std::vector<std::string>;

class CheckpointTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runner_ = new JobRunner;
    runner_->Generate("rows.tsv", 20500);
  }
  static void TearDownTestSuite() { delete runner_; }

  static Sets With(Sets more) {
    Sets sets = {"training.deterministic=true", "checkpoint.every=20"};
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
  }
  static CommandResult Resume(const std::string& name, const Sets& sets, const Sets& flags = {}) {
    std::vector<std::string> command = runner_->LaunchCommand(name, "rows.tsv", sets);
    command.push_back("--resume");
    command.insert(command.end(), flags.begin(), flags.end());
    return RunningCommand(command).Wait();
  }
  static Json ResultOf(const std::string& name) { return Json::parse(ReadFile(runner_->RunDir(name) + "/result.json")); }
  static bool Done(const std::string& name) { return std::filesystem::exists(runner_->RunDir(name) + "/result.json"); }
  static std::string Checkpoints(const std::string& name) { return runner_->RunDir(name) + "/checkpoints"; }
  // Of the latest checkpoint; 0: none.
  static int64_t LatestStep(const std::string& name) {
    int64_t step = 0;
    const std::vector<std::string> parts = absl::StrSplit(ReadFile(Checkpoints(name) + "/latest"), absl::ByAnyChar("-\n"));
    return parts.size() > 1 && absl::SimpleAtoi(parts[1], &step) ? step : 0;
  }

  static JobRunner* runner_;
};

JobRunner* CheckpointTest::runner_ = nullptr;

struct Codecs {
  const char* name;
  Sets sets;
};

TEST_F(CheckpointTest, AStoppedJobGoesOnToTheSameBits) {
  const std::vector<Codecs> cases = {
      {"plain-sums", {}},
      {"change",
       {"compression.lookup.method=dct", "compression.lookup.scope=change", "compression.push.method=dct", "compression.dense.method=dct",
        "compression.dense.refresh_every=7", "compression.guard.bound=0.001", "compression.guard.probe_every=4"}},
      {"sample", {"compression.lookup.method=dct", "compression.lookup.scope=sample", "compression.dense.method=topk"}},
      {"bounded",
       {"compression.lookup.method=error_bounded", "compression.lookup.classes=measured", "compression.dense.method=dgc",
        "compression.dense.warmup_steps=100", "cluster.workers=3", "training.batch_size=129"}},
      {"low-rank",
       {"compression.dense.method=powersgd", "compression.dense.rank=2", "model.optimizer.type=adam", "embeddings.optimizer.type=adam",
        "training.prefetch=4", "model.cuts=[{after: bottom.1, method: gradient_topk, sparsity: 0.5}]"}},
  };
  for (const Codecs& codecs : cases) {
    SCOPED_TRACE(codecs.name);
    const std::string undisturbed = absl::StrCat(codecs.name, "-undisturbed"), stopped = absl::StrCat(codecs.name, "-stopped");
    const Json whole = runner_->Train(undisturbed, "rows.tsv", With(codecs.sets));
    Sets first = With(codecs.sets);
    first.push_back("training.steps_max=60");
    EXPECT_EQ(runner_->Train(stopped, "rows.tsv", first)["samples"], 60 * (std::string(codecs.name) == "bounded" ? 129 : 128));
    const CommandResult resumed = Resume(stopped, With(codecs.sets));
    ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
    const Json result = ResultOf(stopped);
    EXPECT_EQ(result["fingerprint"], whole["fingerprint"]);
    EXPECT_EQ(result["logloss"], whole["logloss"]);
    EXPECT_EQ(result["samples"], whole["samples"]);
    EXPECT_EQ(result["steps"], whole["steps"]);
  }
}

TEST_F(CheckpointTest, BadRowsMoveNoWorkerFromItsData) {
  std::string rows = ReadFile(runner_->dir() + "/rows.tsv");
  rows.insert(0, "bad\nbad\nbad\n");
  WriteFile(runner_->dir() + "/bad.tsv", rows);
  const Sets skip = With({"data.on_bad_row=skip", absl::StrCat("data.train=[", runner_->dir(), "/bad.tsv]")});
  const Json whole = runner_->Train("bad-undisturbed", "bad.tsv", skip);
  Sets first = skip;
  first.push_back("training.steps_max=40");
  runner_->Train("bad-stopped", "bad.tsv", first);
  const CommandResult resumed = Resume("bad-stopped", skip);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_EQ(ResultOf("bad-stopped")["fingerprint"], whole["fingerprint"]);
  EXPECT_EQ(ResultOf("bad-stopped")["bad_rows"], 3);
}

// Every row is trained once, and residuals of the worker that is gone arrive; sums are rounded in another order.
TEST_F(CheckpointTest, AJobGoesOnWithOtherServersAndWorkers) {
  const std::vector<Codecs> cases = {{"whole", {}}, {"residuals", {"compression.push.method=dct", "compression.dense.method=dct"}}};
  for (const Codecs& codecs : cases) {
    SCOPED_TRACE(codecs.name);
    const std::string fixed = absl::StrCat(codecs.name, "-fixed"), moved = absl::StrCat(codecs.name, "-moved");
    const Json whole = runner_->Train(fixed, "rows.tsv", With(codecs.sets));
    Sets first = With(codecs.sets);
    first.push_back("training.steps_max=60");
    runner_->Train(moved, "rows.tsv", first);
    Sets then = With(codecs.sets);
    then.insert(then.end(), {"cluster.servers=3", "cluster.workers=1", "cluster.shards=32"});
    const CommandResult resumed = Resume(moved, then);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
    const Json result = ResultOf(moved);
    EXPECT_EQ(result["samples"], whole["samples"]);
    // A codec that sends other entries creates other rows.
    if (codecs.sets.empty()) {
      EXPECT_EQ(result["rows_held"], whole["rows_held"]);
    }
    EXPECT_NEAR(result["logloss"].get<double>(), whole["logloss"].get<double>(), codecs.sets.empty() ? 1e-5 : 0.01);
  }
}

TEST_F(CheckpointTest, WorkersThatTakeRangesAsTheyComeTrainEveryRowOnce) {
  const Sets sets = {"checkpoint.every=20", "data.train_rows_max=12345"};
  Sets first = sets;
  first.push_back("training.steps_max=60");
  runner_->Train("ranges", "rows.tsv", first);
  const CommandResult resumed = Resume("ranges", sets);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_EQ(ResultOf("ranges")["samples"], 12345);
}

// Twenty times in one run, at random points, whoever it is.
TEST_F(CheckpointTest, KilledProcessesChangeNothing) {
  constexpr int kKills = 20;
  const Sets sets = {"training.deterministic=true",  "checkpoint.every=4",       "compression.push.method=dct",
                     "compression.dense.method=dct", "checkpoint.restarts=1000", "training.epochs=3"};
  const Json undisturbed = runner_->Train("kill-none", "rows.tsv", sets);
  RunningCommand job(runner_->LaunchCommand("kill-many", "rows.tsv", sets));
  std::mt19937 random(7);
  const std::vector<std::string> roles = {"weir-server", "weir-worker", "weir-coordinator"};
  int killed = 0;
  while (killed < kKills && !Done("kill-many")) {
    // Later than the last death, and spread over the 471 steps.
    const int64_t target = std::max<int64_t>(LatestStep("kill-many") + 1, (killed + 1) * 18);
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (LatestStep("kill-many") < target && !Done("kill-many") && absl::Now() < deadline) std::this_thread::yield();
    ASSERT_LT(absl::Now(), deadline) << job.Wait().output;
    const absl::Time moment = absl::Now() + absl::Microseconds(random() % 30000);
    while (absl::Now() < moment) std::this_thread::yield();
    const std::string& role = roles[random() % roles.size()];
    const pid_t victim = runner_->ProcessOf(role, random() % 2);
    if (victim != 0 && kill(victim, SIGKILL) == 0) ++killed;
  }
  const CommandResult result = job.Wait();
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_GE(killed, 15) << "the job was done too early";
  EXPECT_TRUE(absl::StrContains(result.output, "was killed by signal 9")) << result.output;
  EXPECT_TRUE(absl::StrContains(result.output, "the first new step is done")) << result.output;
  const Json disturbed = ResultOf("kill-many");
  EXPECT_EQ(disturbed["fingerprint"], undisturbed["fingerprint"]);
  EXPECT_EQ(disturbed["logloss"], undisturbed["logloss"]);
  EXPECT_EQ(disturbed["samples"], undisturbed["samples"]);
  EXPECT_TRUE(runner_->LiveProcesses().empty());
}

// A server comes back with what it has acknowledged: nobody goes back.
TEST_F(CheckpointTest, KilledServersGoOnAlone) {
  constexpr int kKills = 10;
  const Sets sets = {"training.deterministic=true",  "checkpoint.every=30",      "compression.push.method=dct",
                     "compression.dense.method=dct", "checkpoint.restarts=1000", "training.epochs=3"};
  const Json undisturbed = runner_->Train("servers-none", "rows.tsv", sets);
  RunningCommand job(runner_->LaunchCommand("servers-many", "rows.tsv", sets));
  std::mt19937 random(11);
  const auto steps = [] {
    int64_t most = 0;
    for (const absl::string_view line : absl::StrSplit(ReadFile(runner_->RunDir("servers-many") + "/metrics.jsonl"), '\n')) {
      const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_object()) most = std::max(most, json.value("steps", most));
    }
    return most;
  };
  int64_t before = 0;
  int killed = 0;
  while (killed < kKills && !Done("servers-many")) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (steps() <= before && !Done("servers-many") && absl::Now() < deadline) std::this_thread::yield();
    before = steps();
    const absl::Time moment = absl::Now() + absl::Microseconds(random() % 20000);
    while (absl::Now() < moment) std::this_thread::yield();
    const pid_t victim = runner_->ProcessOf("weir-server", random() % 2);
    if (victim != 0 && kill(victim, SIGKILL) == 0) ++killed;
  }
  const CommandResult result = job.Wait();
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_GE(killed, 5);
  EXPECT_TRUE(absl::StrContains(result.output, "it comes back alone")) << result.output;
  EXPECT_FALSE(absl::StrContains(result.output, "all start again")) << result.output;
  const Json disturbed = ResultOf("servers-many");
  EXPECT_EQ(disturbed["fingerprint"], undisturbed["fingerprint"]);
  EXPECT_EQ(disturbed["logloss"], undisturbed["logloss"]);
}

TEST_F(CheckpointTest, ADamagedFileIsNamedAndTheCheckpointBeforeItStays) {
  Sets sets = With({"training.steps_max=60"});
  runner_->Train("damaged", "rows.tsv", sets);
  const std::string path = Checkpoints("damaged") + "/step-60/server-1.state";
  std::string bytes = ReadFile(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  WriteFile(path, bytes);
  const CommandResult refused = Resume("damaged", With({}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(refused.output, path)) << refused.output;
  EXPECT_TRUE(absl::StrContains(refused.output, "damaged")) << refused.output;
  const CommandResult earlier = Resume("damaged", With({}), {"--checkpoint", Checkpoints("damaged") + "/step-40"});
  EXPECT_EQ(earlier.exit_code, 0) << earlier.output;
}

// What a later course of the job had saved before it went back is not where it goes on.
TEST_F(CheckpointTest, AJobThatWentBackGoesOnFromThere) {
  runner_->Train("back", "rows.tsv", With({"training.steps_max=60"}));
  std::vector<std::string> command =
      runner_->LaunchCommand("back", "rows.tsv", {"training.deterministic=true", "checkpoint.every=100000", "training.epochs=3"});
  const std::string folder = Checkpoints("back") + "/step-20";
  command.insert(command.end(), {"--resume", "--checkpoint", folder});
  RunningCommand job(command);
  pid_t victim = 0;
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (victim == 0 && absl::Now() < deadline) victim = runner_->ProcessOf("weir-worker", 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  const CommandResult result = job.Wait();
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(absl::StrContains(result.output, absl::StrCat("all start again from ", folder))) << result.output;
  EXPECT_EQ(ResultOf("back")["samples"], 60000);
}

TEST_F(CheckpointTest, AFolderThatCannotBeWrittenEndsTheJobWithItsName) {
  WriteFile(runner_->dir() + "/no-folder", "a file");
  const CommandResult result =
      runner_->Launch("unwritable", "rows.tsv", With({absl::StrCat("checkpoint.dir=", runner_->dir(), "/no-folder/checkpoints")}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(result.output, "/no-folder/checkpoints")) << result.output;
}

TEST_F(CheckpointTest, WhatCannotBeResumedSaysWhy) {
  const CommandResult nothing = Resume("never", With({}));
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(nothing.output, "nothing to resume")) << nothing.output;
  runner_->Train("other", "rows.tsv", With({"training.steps_max=20"}));
  const CommandResult other = Resume("other", With({"embeddings.dim=16", "model.bottom=[32, 16]"}));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(other.output, "model.bottom")) << other.output;
}

TEST_F(CheckpointTest, ANewRunDoesNotTakeAwayWhatCouldGoOn) {
  runner_->Train("kept", "rows.tsv", With({"training.steps_max=20"}));
  std::filesystem::remove(runner_->RunDir("kept") + "/result.json");
  const CommandResult result = runner_->Launch("kept", "rows.tsv", With({}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(result.output, "--resume")) << result.output;
  EXPECT_EQ(LatestStep("kept"), 20);
}

}  // namespace
}  // namespace weir::testing
