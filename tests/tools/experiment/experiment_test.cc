#include "tools/experiment/experiment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

TEST(ExperimentTest, TheCommandTakesTablesAndData) {
  CLI::App app;
  DctPaperRequest request;
  CLI::App* const command = AddExperimentCommand(&app, &request);
  app.parse("experiment dct-paper --only mp1,dp --rows 5000 --test-rows 100 --seeds 2 --data a.tsv b.tsv");
  EXPECT_TRUE(command->parsed());
  EXPECT_EQ(request.only, (std::vector<std::string>{"mp1", "dp"}));
  EXPECT_EQ(request.files, (std::vector<std::string>{"a.tsv", "b.tsv"}));
  EXPECT_EQ(request.seeds, 2u);
}

TEST(ExperimentTest, RefusesAnUnknownTableBeforeAnythingIsMade) {
  DctPaperRequest request;
  request.only = {"mp7"};
  request.out = ::testing::TempDir() + "/not/made";
  const auto signals = StopSignals::Create();
  ASSERT_TRUE(signals.ok());
  EXPECT_THAT(std::string(RunDctPaper(request, signals->get()).message()), HasSubstr("mp7"));
}

}  // namespace
}  // namespace weir::tools
