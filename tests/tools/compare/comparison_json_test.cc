#include "tools/compare/comparison_json.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/compare/sample_comparison.h"

namespace weir::tools {
namespace {

using nlohmann::json;

TEST(ComparisonJsonTest, HoldsArmsAndRuns) {
  const json root = json::parse(ComparisonJson(SampleComparison()));
  EXPECT_EQ(root["job"], "sample");
  EXPECT_EQ(root["seeds"], (json{1, 2}));
  EXPECT_EQ(root["base"], "plain");
  EXPECT_EQ(root["references"], (json{"plain"}));
  ASSERT_EQ(root["arms"].size(), 5u);

  const json& plain = root["arms"][0];
  EXPECT_EQ(plain["yardstick"], true);
  EXPECT_EQ(plain["same"], (json{"arm=uncompressed"}));
  EXPECT_TRUE(plain["logloss"]["p"].is_null());
  EXPECT_TRUE(plain["logloss"]["test"].is_null());

  const json& small = root["arms"][1];
  EXPECT_EQ(small["sets"], (json{"arm=small"}));
  EXPECT_TRUE(small["refused"].is_null());
  EXPECT_EQ(small["pareto"], true);
  EXPECT_NEAR(small["logloss"]["mean"].get<double>(), 0.525, 1e-12);
  EXPECT_NEAR(small["logloss"]["difference"].get<double>(), 0.015, 1e-12);
  EXPECT_NEAR(small["logloss"]["difference_spread"].get<double>(), 0.00707, 1e-5);
  EXPECT_NEAR(small["logloss"]["p"].get<double>(), 0.2048, 1e-4);
  EXPECT_EQ(small["logloss"]["test"], "paired t");
  EXPECT_EQ(small["bytes_per_sample"],
            (json{{"lookup_request", 0.0}, {"lookup_reply", 5.0}, {"push", 5.0}, {"dense", 0.0}, {"control", 0.0}, {"all", 10.0}}));
  EXPECT_EQ(small["runs"][1]["folder"], "small-2");
  EXPECT_EQ(small["runs"][1]["state"], "done");
  EXPECT_EQ(small["runs"][1]["logloss"], 0.54);
  EXPECT_EQ(small["runs"][1]["bytes_per_sample"], 10.0);

  EXPECT_EQ(root["arms"][2]["runs"][0]["state"], "failed");
  EXPECT_EQ(root["arms"][2]["runs"][0]["reason"], "worker 1 was killed; the end of its log:\nlast words");
  EXPECT_EQ(root["arms"][3]["runs"][0], (json{{"seed", 1}, {"folder", "later-1"}, {"state", "to run"}}));
  EXPECT_TRUE(root["arms"][3]["bytes_per_sample"]["all"].is_null());
  EXPECT_EQ(root["arms"][4]["refused"], "odd has no effect");
  EXPECT_TRUE(root["arms"][4]["runs"].empty());
}

}  // namespace
}  // namespace weir::tools
