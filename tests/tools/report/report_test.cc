#include "tools/report/report.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/report/fake_run.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kDataBegin = R"(<script id="data" type="application/json">)";
constexpr absl::string_view kDataEnd = "</script>";

// What a browser takes for the page's data: up to the first end of a script element.
nlohmann::json DataOf(const std::string& page) {
  const size_t begin = page.find(kDataBegin.data());
  EXPECT_NE(begin, std::string::npos);
  const size_t end = page.find(kDataEnd.data(), begin);
  const std::string text = page.substr(begin + kDataBegin.size(), end - begin - kDataBegin.size());
  return nlohmann::json::parse(text, nullptr, false);
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ReportTest, HoldsTheRunAsData) {
  const FakeRun run("report");
  run.Write("teacher.json", R"({"rows": 9, "seed": 1, "logloss": 0.44, "auc": 0.79, "ctr": 0.25})");
  ASSERT_EQ(WriteReport(run.dir()), absl::OkStatus());
  const nlohmann::json data = DataOf(run.Read("report.html"));
  EXPECT_EQ(data["result"]["job"], "fake");
  EXPECT_EQ(data["result"]["auc"], 0.78);
  EXPECT_EQ(data["result"]["edges"][1], (nlohmann::json{{"name", "lookup_reply"}, {"training", 230000}, {"evaluation", 20000}}));
  EXPECT_EQ(data["course"]["samples"], (nlohmann::json{100, 200}));
  EXPECT_EQ(data["course"]["wire_bytes"]["lookup_request"], (nlohmann::json{10, 20}));
  EXPECT_EQ(data["codecs"][0]["name"], "C1");
  EXPECT_EQ(data["codecs"][0]["threshold"], (nlohmann::json{0.001, 0.001}));
  EXPECT_EQ(data["teacher"]["logloss"], 0.44);
  EXPECT_EQ(data["config"], "name: fake\n");
}

// A codec that reports late has no figures before.
TEST(ReportTest, LateCodecsBeginWithNull) {
  const FakeRun run("late_codec");
  run.Write("metrics.jsonl", absl::StrCat(absl::StrReplaceAll(FakeMetricsLine(1), {{"C1", "C0"}}), "\n", FakeMetricsLine(2), "\n"));
  ASSERT_EQ(WriteReport(run.dir()), absl::OkStatus());
  const nlohmann::json data = DataOf(run.Read("report.html"));
  EXPECT_EQ(data["codecs"][1]["name"], "C1");
  EXPECT_EQ(data["codecs"][1]["density"], (nlohmann::json{nullptr, 0.1}));
  EXPECT_EQ(data["codecs"][0]["density"], (nlohmann::json{0.1, nullptr}));
}

TEST(ReportTest, TextFromFilesStaysText) {
  const std::string evil = R"(</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> )";
  const FakeRun clean("clean");
  ASSERT_EQ(WriteReport(clean.dir()), absl::OkStatus());
  const FakeRun run("evil");
  run.Write("job.yaml", evil);
  run.Write("result.json", absl::StrReplaceAll(kFakeResult, {{R"("job": "fake")", absl::StrCat(R"("job": ")", evil, "\"")}}));
  run.Write("metrics.jsonl", absl::StrReplaceAll(FakeMetricsLine(1), {{"C1", evil}}));
  ASSERT_EQ(WriteReport(run.dir()), absl::OkStatus());
  const std::string page = run.Read("report.html");
  for (const char* tag : {"<script", "</script", "<!--", "<img"})
    EXPECT_EQ(CountOf(page, tag), CountOf(clean.Read("report.html"), tag)) << tag;
  const nlohmann::json data = DataOf(page);
  EXPECT_EQ(data["config"], evil);
  EXPECT_EQ(data["result"]["job"], evil);
  EXPECT_EQ(data["codecs"][0]["name"], evil);
}

TEST(ReportTest, BytesThatAreNoTextAreReplaced) {
  const FakeRun run("no_utf8");
  run.Write("job.yaml", "name: \xff\xfe\n");
  ASSERT_EQ(WriteReport(run.dir()), absl::OkStatus());
  EXPECT_EQ(DataOf(run.Read("report.html"))["config"], "name: \xef\xbf\xbd\xef\xbf\xbd\n");
}

TEST(ReportTest, NeedsNothingElse) {
  const FakeRun run("self_contained");
  ASSERT_EQ(WriteReport(run.dir()), absl::OkStatus());
  const std::string page = absl::StrReplaceAll(run.Read("report.html"), {{"http://www.w3.org/2000/svg", ""}});
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "fetch("}) {
    // url(#clip) points into the page itself.
    EXPECT_THAT(absl::StrReplaceAll(page, {{"url(#", ""}}), Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(ReportTest, ReplacesAnOldPageOrLeavesIt) {
  const FakeRun run("replace");
  run.Write("report.html", "old");
  run.Write("result.json", "{");
  EXPECT_EQ(WriteReport(run.dir()).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(run.Read("report.html"), "old");
  run.Write("result.json", kFakeResult);
  ASSERT_EQ(WriteReport(run.dir()), absl::OkStatus());
  EXPECT_TRUE(absl::StartsWith(run.Read("report.html"), "<!doctype html>"));
  EXPECT_EQ(run.Read("report.html.part"), "");
}

TEST(ReportTest, SaysWhenThePageCannotBeWritten) {
  const FakeRun run("cannot_write");
  // A folder stands where the page is written.
  std::filesystem::create_directories(absl::StrCat(run.dir(), "/report.html.part"));
  EXPECT_EQ(WriteReport(run.dir()).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace weir::tools
