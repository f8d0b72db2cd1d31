#include "tools/explain/explain.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/report/fake_run.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

TEST(ExplainTest, NamesTheRunThatHasNoAccount) {
  const FakeRun run("no_account");
  const absl::Status status = Explain({{run.dir()}});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(run.dir()));
}

TEST(ExplainTest, NamesTheFileThatIsMissing) {
  const FakeRun run("no_result");
  run.Remove("result.json");
  EXPECT_THAT(std::string(Explain({{run.dir()}}).message()), HasSubstr("result.json"));
}

TEST(ExplainTest, TheCommandTakesItsFlags) {
  CLI::App app;
  ExplainRequest request;
  CLI::App* const command = AddExplainCommand(&app, &request);
  app.parse("explain runs/a runs/b --all");
  EXPECT_TRUE(command->parsed());
  EXPECT_EQ(request.runs, (std::vector<std::string>{"runs/a", "runs/b"}));
  EXPECT_TRUE(request.all);
  EXPECT_FALSE(request.json);
}

}  // namespace
}  // namespace weir::tools
