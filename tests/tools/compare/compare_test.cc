// Small comparisons as a person runs them: the weir binary, real processes.
#include "tools/compare/compare.h"

#include <signal.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/job_runner.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CompareTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runner_ = new JobRunner;
    runner_->Generate("rows.tsv", 3000);
  }
  static void TearDownTestSuite() { delete runner_; }

  static std::string Dir(const std::string& name) { return absl::StrCat(runner_->dir(), "/", name); }

  // The command line of a comparison in Dir(name), with one seed unless `words` say more.
  static std::vector<std::string> Command(const std::string& name, const std::vector<std::string>& words) {
    std::vector<std::string> command = {"tools/weir", "compare", "examples/tiny.yaml", "--out", Dir(name)};
    command.insert(command.end(), {"--set", absl::StrCat("data.train=[", Dir("rows.tsv"), "]"), "--seeds", "1"});
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }
  static CommandResult Compare(const std::string& name, const std::vector<std::string>& words) {
    return RunningCommand(Command(name, words)).Wait();
  }
  static nlohmann::json Result(const std::string& name) {
    return nlohmann::json::parse(ReadFile(Dir(name) + "/compare.json"), nullptr, /*allow_exceptions=*/false);
  }

  static JobRunner* runner_;
};

JobRunner* CompareTest::runner_ = nullptr;

TEST_F(CompareTest, RunsTheGridBesideTheYardsticksOnce) {
  const std::vector<std::string> words = {"--vary", "compression.dense={method: dct, sparsity: 0.9},{method: none, sparsity: 0.9}"};
  const CommandResult first = Compare("grid", words);
  EXPECT_EQ(first.exit_code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("3 cells: 3 arms, 1 seeds each; 0 done before, 3 to run"));
  EXPECT_THAT(first.output, HasSubstr("cell 3 of 3"));
  EXPECT_THAT(first.output, Not(HasSubstr("no rows are held out")));
  EXPECT_THAT(first.output, HasSubstr("has no effect"));

  const nlohmann::json result = Result("grid");
  ASSERT_EQ(result["arms"].size(), 4u) << first.output;
  for (size_t arm = 0; arm < 3; ++arm) EXPECT_EQ(result["arms"][arm]["runs"][0]["state"], "done") << first.output;
  EXPECT_THAT(result["arms"][3]["refused"].get<std::string>(), HasSubstr("sparsity"));
  const auto bytes = [&](size_t arm, const char* edge) { return result["arms"][arm]["bytes_per_sample"][edge].get<double>(); };
  EXPECT_GT(bytes(0, "all"), bytes(1, "all")) << "fp16 sends less than plain";
  EXPECT_GT(bytes(0, "dense"), 1.5 * bytes(2, "dense"));
  // Bytes are those of training: what the run says in all, less its evaluation.
  const auto run = nlohmann::json::parse(ReadFile(Dir("grid") + "/plain-1/result.json"));
  const double reply = run["wire_bytes"]["lookup_reply"].get<double>() - run["wire_bytes_evaluation"]["lookup_reply"].get<double>();
  EXPECT_NEAR(bytes(0, "lookup_reply"), reply / run["samples"].get<double>(), 1e-9);
  EXPECT_TRUE(std::filesystem::exists(Dir("grid") + "/compare.html"));
  EXPECT_TRUE(std::filesystem::exists(Dir("grid") + "/fp16-1/report.html"));

  const auto written = std::filesystem::last_write_time(Dir("grid") + "/plain-1/result.json");
  const CommandResult again = Compare("grid", words);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("3 done before, 0 to run"));
  EXPECT_THAT(again.output, Not(HasSubstr("cell 1 of")));
  EXPECT_EQ(std::filesystem::last_write_time(Dir("grid") + "/plain-1/result.json"), written);
  EXPECT_EQ(Result("grid"), result);

  // Another job in the same folder runs again.
  std::vector<std::string> changed = words;
  changed.insert(changed.end(), {"--set", "training.batch_size=256", "--no-yardsticks"});
  const CommandResult other = Compare("grid", changed);
  EXPECT_EQ(other.exit_code, 0) << other.output;
  EXPECT_THAT(other.output, HasSubstr("0 done before, 1 to run"));
}

TEST_F(CompareTest, AFailedCellLosesNothingElseAndRunsAgain) {
  WriteFile(Dir("bad.tsv"), "this is no row\n");
  const std::vector<std::string> words = {"--no-yardsticks", "--set", "data.test_last_rows=0", "--vary",
                                          absl::StrCat("data.train=[", Dir("bad.tsv"), "],[", Dir("rows.tsv"), "]")};
  const CommandResult first = Compare("failing", words);
  EXPECT_EQ(first.exit_code, 1) << first.output;
  EXPECT_THAT(first.output, HasSubstr("no rows are held out"));
  EXPECT_THAT(first.output, HasSubstr("1 of 2 cells failed"));
  const nlohmann::json result = Result("failing");
  EXPECT_EQ(result["arms"][0]["runs"][0]["state"], "failed");
  EXPECT_THAT(result["arms"][0]["runs"][0]["reason"].get<std::string>(), HasSubstr("bad.tsv"));
  EXPECT_EQ(result["arms"][1]["runs"][0]["state"], "done");

  // Repaired: only this cell runs.
  std::filesystem::copy_file(Dir("rows.tsv"), Dir("bad.tsv"), std::filesystem::copy_options::overwrite_existing);
  const CommandResult second = Compare("failing", words);
  EXPECT_EQ(second.exit_code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("1 done before, 1 to run"));
}

TEST_F(CompareTest, AnInterruptKeepsWhatIsDone) {
  // The second arm would run for minutes.
  const std::vector<std::string> words = {"--no-yardsticks", "--vary", "training.epochs=1,100000"};
  {
    RunningCommand command(Command("interrupted", words));
    ASSERT_TRUE(command.WaitForOutput("cell 2 of 2"));
    ASSERT_TRUE(command.WaitForOutput("samples/s"));
    const CommandResult busy = Compare("interrupted", words);
    EXPECT_EQ(busy.exit_code, 1);
    EXPECT_THAT(busy.output, HasSubstr("another weir compare runs in"));
    command.Signal(SIGINT);
    const CommandResult result = command.Wait();
    EXPECT_EQ(result.exit_code, 130) << result.output;
    EXPECT_THAT(result.output, HasSubstr("interrupted after 1 of 2 cells"));
  }
  EXPECT_TRUE(runner_->LiveProcesses().empty());
  const nlohmann::json result = Result("interrupted");
  EXPECT_EQ(result["arms"][0]["runs"][0]["state"], "done");
  EXPECT_EQ(result["arms"][1]["runs"][0]["state"], "to run");
}

TEST_F(CompareTest, NothingRunsOnAMistake) {
  const auto output_of = [&](const std::vector<std::string>& words) {
    const CommandResult result = Compare("mistake", words);
    EXPECT_EQ(result.exit_code, 1) << result.output;
    EXPECT_THAT(result.output, Not(HasSubstr("cell 1 of")));
    return result.output;
  };
  EXPECT_THAT(output_of({"--vary", "training.epoch=1,2"}), HasSubstr("epochs"));
  EXPECT_THAT(output_of({"--vary", "compression.lookup.method=plain"}), HasSubstr("lookup and push together"));
  EXPECT_FALSE(std::filesystem::exists(Dir("mistake")));
  EXPECT_THAT(output_of({"--set", "data.train=[nowhere.tsv]"}), HasSubstr("nowhere.tsv"));
}

}  // namespace
}  // namespace weir::testing
