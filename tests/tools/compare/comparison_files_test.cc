#include "tools/compare/comparison_files.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/compare/sample_comparison.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDataBegin[] = R"(<script id="data" type="application/json">)";

std::string NewFolder(const std::string& name) {
  const std::string dir = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(ComparisonFilesTest, PageAndFileHoldTheSame) {
  const std::string dir = NewFolder("files");
  Comparison comparison = SampleComparison();
  // What would end the script element, if it were let.
  const std::string evil = "</script><script>alert(1)</script><!--";
  comparison.arms[4].refused = evil;
  ASSERT_EQ(WriteComparison(dir, comparison), absl::OkStatus());
  const std::string page = Read(dir + "/compare.html");
  const size_t begin = page.find(kDataBegin);
  ASSERT_NE(begin, std::string::npos);
  const size_t data = begin + sizeof(kDataBegin) - 1;
  const auto in_page = nlohmann::json::parse(page.substr(data, page.find("</script>", data) - data), nullptr, false);
  EXPECT_EQ(in_page["arms"][4]["refused"], evil);
  EXPECT_EQ(in_page, nlohmann::json::parse(Read(dir + "/compare.json"), nullptr, false));
}

TEST(ComparisonFilesTest, MarkdownIsBesideThePage) {
  const std::string dir = NewFolder("markdown");
  ASSERT_EQ(WriteComparison(dir, SampleComparison()), absl::OkStatus());
  EXPECT_THAT(Read(dir + "/compare.md"), HasSubstr("| plain | 2 | 0.51000 ± 0.01414 |"));
}

TEST(ComparisonFilesTest, PageNeedsNothingElse) {
  const std::string dir = NewFolder("alone");
  ASSERT_EQ(WriteComparison(dir, SampleComparison()), absl::OkStatus());
  const std::string page = absl::StrReplaceAll(Read(dir + "/compare.html"), {{"http://www.w3.org/2000/svg", ""}, {"url(#", ""}});
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "fetch("}) EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("class ScatterChart"));
}

TEST(ComparisonFilesTest, SaysWhatCannotBeWritten) {
  const absl::Status status = WriteComparison(testing::TempDir() + "/nowhere", SampleComparison());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere/compare.json"));
}

}  // namespace
}  // namespace weir::tools
