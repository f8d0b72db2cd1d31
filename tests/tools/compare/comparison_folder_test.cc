#include "tools/compare/comparison_folder.h"

#include <fstream>
#include <optional>

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

TEST(ComparisonFolderTest, OneHolderAtATime) {
  const std::string dir = testing::TempDir() + "/held/deep";
  std::optional<ComparisonFolder> first;
  {
    absl::StatusOr<ComparisonFolder> opened = ComparisonFolder::Open(dir);
    ASSERT_TRUE(opened.ok()) << opened.status();
    first.emplace(*std::move(opened));
  }
  const absl::Status second = ComparisonFolder::Open(dir).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.message().find(dir), std::string::npos);
  first.reset();
  EXPECT_TRUE(ComparisonFolder::Open(dir).ok());
}

TEST(ComparisonFolderTest, SaysWhatCannotBeMade) {
  const std::string file = testing::TempDir() + "/file";
  std::ofstream(file) << "in the way";
  const absl::Status status = ComparisonFolder::Open(file + "/dir").status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(file), std::string::npos) << status;
}

}  // namespace
}  // namespace weir::tools
