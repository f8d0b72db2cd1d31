#include "tools/report/replace_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(ReplaceFileTest, ReplacesWholeOrLeavesTheOldOne) {
  const std::string path = testing::TempDir() + "/replaced";
  ASSERT_EQ(ReplaceFile(path, {"a", "", "b"}), absl::OkStatus());
  EXPECT_EQ(Read(path), "ab");
  ASSERT_EQ(ReplaceFile(path, {"c"}), absl::OkStatus());
  EXPECT_EQ(Read(path), "c");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  // A folder stands where the file is written first.
  std::filesystem::create_directories(path + ".part");
  const absl::Status status = ReplaceFile(path, {"d"});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(path), std::string::npos);
  EXPECT_EQ(Read(path), "c");
}

}  // namespace
}  // namespace weir::tools
