#include "tools/datagen/row_file.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir::tools {
namespace {

std::string ContentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool Exists(const std::string& path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0;
}

TEST(RowFileTest, AppearsWhenItIsWhole) {
  const std::string path = testing::WriteFile("rows", "the file before");
  {
    RowFile file = RowFile::Create(path).value();
    ASSERT_TRUE(file.Write("a\n").ok());
    ASSERT_TRUE(file.Write("").ok());
    ASSERT_TRUE(file.Write("b\n").ok());
    EXPECT_EQ(ContentOf(path), "the file before");
    ASSERT_TRUE(file.Commit().ok());
  }
  EXPECT_EQ(ContentOf(path), "a\nb\n");
  EXPECT_FALSE(Exists(path + ".partial"));
}

TEST(RowFileTest, LeavesNothingWithoutCommit) {
  const std::string path = testing::WriteFile("rows", "the file before");
  {
    RowFile file = RowFile::Create(path).value();
    RowFile moved = std::move(file);
    ASSERT_TRUE(moved.Write("half").ok());
  }
  EXPECT_EQ(ContentOf(path), "the file before");
  EXPECT_FALSE(Exists(path + ".partial"));
}

TEST(RowFileTest, FolderThatIsMissingIsNamed) {
  const absl::Status status = RowFile::Create("/no/such/folder/rows").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/no/such/folder/rows"));
}

TEST(RowFileTest, DeviceIsWrittenInPlaceAndItsErrorIsNamed) {
  RowFile file = RowFile::Create("/dev/full").value();
  const absl::Status status = file.Write("a\n");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace weir::tools
