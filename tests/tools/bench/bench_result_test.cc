#include "tools/bench/bench_result.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/data_file.h"

namespace weir::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

BenchResult SomeResult() {
  BenchResult result;
  result.machine = {"AMD EPYC", 2, 25'200'000'000, "Linux 6.18", "madvise", 0.4};
  Scenario lookup;
  lookup.name = "table_lookup";
  lookup.what = "lookups in a table";
  lookup.unit = "rows/s";
  lookup.against = "a gather";
  lookup.floor = 0.45;
  lookup.aim = 0.75;
  result.scenarios.push_back({lookup, 2e7, 4e7, ""});
  Scenario reader = lookup;
  reader.name = "reader";
  result.scenarios.push_back({reader, 1e6, 0, "pandas is not installed"});
  return result;
}

TEST(BenchResultTest, TableHasRatiosAndVerdicts) {
  const std::string table = BenchTable(SomeResult(), nullptr);
  EXPECT_THAT(table, HasSubstr("AMD EPYC, 2 cores"));
  EXPECT_THAT(table, ContainsRegex("table_lookup +20.0M +40.0M +rows/s +0.50 +0.45 +0.75 +floor met\n"));
  EXPECT_THAT(table, ContainsRegex("reader +- +- +rows/s +- .*not measured"));
  EXPECT_THAT(table, HasSubstr("table_lookup: lookups in a table; against a gather\n"));
  EXPECT_THAT(table, HasSubstr("reader: pandas is not installed\n"));
  EXPECT_THAT(table, Not(HasSubstr("drift")));
}

TEST(BenchResultTest, DocumentHasAllFields) {
  const auto document = nlohmann::json::parse(BenchJson(SomeResult()));
  EXPECT_EQ(document["machine"]["cores"], 2);
  const auto& lookup = document["scenarios"][0];
  EXPECT_EQ(lookup["name"], "table_lookup");
  EXPECT_EQ(lookup["value"], 2e7);
  EXPECT_EQ(lookup["unit"], "rows/s");
  EXPECT_EQ(lookup["against"], "a gather");
  EXPECT_EQ(lookup["ratio"], 0.5);
  EXPECT_EQ(lookup["floor"], 0.45);
  EXPECT_EQ(lookup["aim"], 0.75);
  EXPECT_EQ(document["scenarios"][1]["missing"], "pandas is not installed");
  EXPECT_FALSE(document["scenarios"][1].contains("ratio"));
}

TEST(BenchResultTest, DriftIsAgainstTheEarlierDocument) {
  BenchResult before = SomeResult();
  before.scenarios[0].value = 1.6e7;
  const EarlierBench earlier = *ReadBenchJson(testing::WriteFile("before.json", BenchJson(before)));
  ASSERT_EQ(earlier.ratios.size(), 1u) << "what was not measured is left out";
  const std::string table = BenchTable(SomeResult(), &earlier);
  EXPECT_THAT(table, ContainsRegex("table_lookup .*floor met +0.40 +\\+25.00 %"));
  EXPECT_THAT(table, HasSubstr("was: AMD EPYC"));
}

TEST(BenchResultTest, OtherFilesAreRefused) {
  const auto error = [](const std::string& content) {
    return std::string(ReadBenchJson(testing::WriteFile("other.json", content)).status().message());
  };
  EXPECT_EQ(ReadBenchJson("nowhere.json").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(error("rows"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("no list `scenarios`"));
  EXPECT_THAT(error(R"({"scenarios": []})"), HasSubstr("machine.description"));
  EXPECT_THAT(error(R"({"machine": {"description": "m"}, "scenarios": [7]})"), HasSubstr("without `name`"));
  EXPECT_THAT(error(R"({"machine": {"description": "m"}, "scenarios": [{"name": "a", "ratio": "1"}]})"), HasSubstr("a has no `ratio`"));
}

}  // namespace
}  // namespace weir::tools
