#include "tools/checkpoint/find_checkpoint.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/checkpoint/small_checkpoint.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

TEST(FindCheckpointTest, AFolderItsFolderOrItsRunWillDo) {
  const std::string run = ::testing::TempDir() + "/run";
  std::filesystem::remove_all(run);
  const std::string first = testing::Save(run + "/checkpoints", {10, {1}});
  const std::string second = testing::Save(run + "/checkpoints", {20, {1}});
  EXPECT_EQ(FindCheckpoint(first)->folder, first);
  EXPECT_EQ(FindCheckpoint(run + "/checkpoints")->folder, second);
  EXPECT_EQ(FindCheckpoint(run)->folder, second);
  EXPECT_EQ(FindCheckpoint(run)->manifest.step(), 20);
}

TEST(FindCheckpointTest, SaysWhatItLookedFor) {
  const absl::Status status = FindCheckpoint("/nowhere").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere is neither a checkpoint"));
}

}  // namespace
}  // namespace weir::tools
