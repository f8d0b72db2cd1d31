#include "tools/explain/account_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 100 samples in 10 steps of 2 workers: 20 bytes a sample on the lookup edge, 14 of them known; a dense edge that is not taken apart.
RunResult SomeRun() {
  RunResult run;
  run.job = "some";
  run.samples = 100;
  run.steps = 10;
  run.workers = 2;
  run.servers = 1;
  run.training_bytes = {700, 1300, 500, 1000, 100};
  run.account = {{"lookup", "C1", 300, 100, 500, 20, 1000, 100, 0.1, 0.02},
                 {"lookup", "C2", 400, 0, 60, 20, 0, 0, 0, 0},
                 {"push", "C1", 0, 100, 200, 50, 2000, 400, 0.25, 0}};
  run.step_seconds = {{"read", 0.2}, {"lookup_wait", 0.6}};
  run.step_waits = {{"lookup", 5}};
  return run;
}

TEST(AccountTableTest, SaysWhereBytesAndTimeWent) {
  const absl::StatusOr<std::string> text = AccountTable(SomeRun(), {});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("some: 100 samples in 10 steps, 2 workers, 1 server\n"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("lookup +7 B +1 B +5.60 B +0.40 B +6 B +20 B +55.6 % +1.000\n"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("dense +0 B +0 B +0 B +0 B +10 B +10 B +27.8 % +0.000\n"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("all +7 B +2 B +7.60 B +0.90 B +18.5 B +36 B"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("C1 +lookup +9.20 B.* 10 % +10 % +1.000\n"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("C1 +push +3.50 B.* 25 % +20 % +0.000\n"));
  EXPECT_THAT(*text, ::testing::ContainsRegex("C2 +lookup +4.80 B.* - +- "));
  EXPECT_THAT(*text, ::testing::ContainsRegex("lookup wait +30.00 +75.0 % +25.0 %\n"));
  EXPECT_THAT(
      *text, HasSubstr("The largest term is rest of the dense edge: 27.8 % of all bytes. What works on it: compression.dense.method: dct"));
  EXPECT_THAT(*text, Not(HasSubstr("more with")));
}

TEST(AccountTableTest, CountsTheLinesThatItLeavesOut) {
  AccountOptions options;
  options.lines_max = 1;
  const absl::StatusOr<std::string> text = AccountTable(SomeRun(), options);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("and 2 more with 8.30 B a sample in all; --all shows them\n"));
}

TEST(AccountTableTest, JsonHoldsTheSame) {
  const absl::StatusOr<std::string> text = AccountJson(SomeRun());
  ASSERT_TRUE(text.ok()) << text.status();
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["edges"][0]["edge"], "lookup");
  EXPECT_EQ(json["edges"][0]["rest"], 600);
  EXPECT_EQ(json["account"][2]["kept"], 400);
  EXPECT_EQ(json["step_seconds"]["lookup_wait"], 0.6);
  EXPECT_EQ(json["step_waits"]["lookup"], 5);
}

TEST(AccountTableTest, ARunWithoutAccountSaysWhatToDo) {
  RunResult run = SomeRun();
  run.step_seconds.clear();
  EXPECT_EQ(AccountTable(run, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(AccountJson(run).status().message()), HasSubstr("run the job again"));
}

}  // namespace
}  // namespace weir::tools
