// A job that compression harms, with and without somebody who watches.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/integration/job_runner.h"

namespace weir::testing {
namespace {

using nlohmann::json;

class GuardedJobTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runner_ = new JobRunner;
    runner_->Generate("rows.tsv", 60000);
  }
  static void TearDownTestSuite() { delete runner_; }

  json Train(const std::string& name, std::vector<std::string> sets) {
    // Rates that fall, so that the last batches do not decide.
    for (const char* set : {"training.deterministic=true", "data.test_last_rows=10000", "training.batch_size=256",
                            "training.schedule={decay_start: 50, decay_steps: 145}", "embeddings.optimizer.type=rowwise_adagrad",
                            "embeddings.optimizer.learning_rate=0.05"}) {
      sets.push_back(set);
    }
    return runner_->Train(name, "rows.tsv", sets);
  }

  // A thousandth of the rows' changes and gradients, hardly any of the dense ones.
  static std::vector<std::string> Harmful() {
    return {"compression.lookup={method: dct, scope: change, sparsity: 0.999, values: int8}",
            "compression.push={method: dct, sparsity: 0.999}", "compression.dense={method: dct, sparsity: 0.9999, min_elements: 1}"};
  }
  static std::vector<std::string> Guarded() {
    std::vector<std::string> sets = Harmful();
    sets.push_back("compression.guard={bound: 0.001, probe_every: 2}");
    return sets;
  }

  static JobRunner* runner_;
};

JobRunner* GuardedJobTest::runner_ = nullptr;

double Bytes(const json& result) {
  double sum = 0;
  for (const auto& [edge, bytes] : result["wire_bytes"].items()) sum += bytes.get<double>();
  return sum;
}

TEST_F(GuardedJobTest, QualityIsRestored) {
  const json whole = Train("whole", {});
  const json harmed = Train("harmed", Harmful());
  const json guarded = Train("guarded", Guarded());
  const double reference = whole["logloss"].get<double>();
  EXPECT_GT(harmed["logloss"].get<double>() / reference - 1, 0.005);
  EXPECT_LT(std::fabs(guarded["logloss"].get<double>() / reference - 1), 0.001);
  EXPECT_LT(Bytes(guarded), 0.7 * Bytes(whole));
}

TEST_F(GuardedJobTest, DecisionsAreShownAndTheSameInEveryRun) {
  const json first = Train("first", Guarded());
  const json second = Train("second", Guarded());
  EXPECT_EQ(first["fingerprint"], second["fingerprint"]);
  std::set<std::string> edges;
  bool back = false, forth = false;
  for (const absl::string_view line : absl::StrSplit(ReadFile(runner_->RunDir("first") + "/metrics.jsonl"), '\n', absl::SkipEmpty())) {
    const json metrics = json::parse(line);
    if (!metrics.contains("decisions")) continue;
    for (const json& decision : metrics["decisions"]) {
      edges.insert(absl::StrCat(decision["worker"].get<int>(), " ", decision["edge"].get<std::string>()));
      back |= decision["sparsity_after"] < decision["sparsity_before"];
      forth |= decision["sparsity_after"] > decision["sparsity_before"];
    }
  }
  EXPECT_EQ(edges, std::set<std::string>({"0 dense", "0 lookup", "0 push", "1 dense", "1 lookup", "1 push"}));
  EXPECT_TRUE(back);
  EXPECT_TRUE(forth);
  const std::string log = ReadFile(runner_->RunDir("first") + "/logs/worker-0.log");
  EXPECT_TRUE(absl::StrContains(log, "of the log-loss, compression.guard.bound is 0.100 %: sparsity ")) << log;
}

TEST_F(GuardedJobTest, AGuardWithNothingToGuardIsAnError) {
  const CommandResult result = runner_->Launch("nothing", "rows.tsv", {"compression.guard.bound=0.001"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(result.output, "compression.guard.bound: has no effect: no edge selects by sparsity")) << result.output;
}

}  // namespace
}  // namespace weir::testing
