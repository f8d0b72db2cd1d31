#include "base/output_file.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(OutputFileTest, GrowsAndIsVisibleAtOnce) {
  const std::string path = ::testing::TempDir() + "/grows";
  const auto file = OutputFile::Create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Write("a").ok());
  ASSERT_TRUE((*file)->Write("bc").ok());
  EXPECT_EQ(testing::ReadWholeFile(path), "abc");
  ASSERT_TRUE((*OutputFile::Continue(path))->Write("d").ok());
  EXPECT_EQ(testing::ReadWholeFile(path), "abcd");
  ASSERT_TRUE(OutputFile::Create(path).ok());
  EXPECT_EQ(testing::ReadWholeFile(path), "");
}

TEST(OutputFileTest, AFullDiskIsReported) {
  const auto file = OutputFile::Create("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Status status = (*file)->Write("x");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/full"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left"));
}

TEST(OutputFileTest, AtomicWriteReplacesAndLeavesNothingElse) {
  const std::string dir = ::testing::TempDir() + "/atomic";
  std::filesystem::create_directory(dir);
  ASSERT_TRUE(WriteFileAtomically(dir + "/f", "old").ok());
  ASSERT_TRUE(WriteFileAtomically(dir + "/f", "new").ok());
  EXPECT_EQ(testing::ReadWholeFile(dir + "/f"), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1);
  const absl::Status status = WriteFileAtomically(dir + "/missing/f", "x");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(dir + "/missing/f"));
}

}  // namespace
}  // namespace weir
