#include "tools/bench/scenario.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

const ProgramPlaces kPlaces = {"/benches", "/programs", "/bin/weir", "/rows.tsv"};

TEST(ScenarioTest, EachHasAFloorAndAnAimBeyondIt) {
  std::set<std::string> names;
  for (const Scenario& scenario : AllScenarios(kPlaces)) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    EXPECT_FALSE(scenario.what.empty() || scenario.unit.empty() || scenario.against.empty()) << scenario.name;
    if (scenario.better == Better::kHigher) {
      EXPECT_LT(scenario.floor, scenario.aim) << scenario.name;
    } else {
      EXPECT_GT(scenario.floor, scenario.aim) << scenario.name;
    }
    for (const Source& source : {scenario.value, scenario.other}) {
      ASSERT_FALSE(source.command.empty()) << scenario.name;
      EXPECT_EQ(source.pointer[0], '/') << scenario.name;
    }
  }
  EXPECT_EQ(names.size(), 11u);
}

TEST(ScenarioTest, VerdictKnowsWhichWayIsBetter) {
  Scenario scenario;
  scenario.floor = 0.5;
  scenario.aim = 0.75;
  EXPECT_EQ(Verdict(scenario, 0.49), "below floor");
  EXPECT_EQ(Verdict(scenario, 0.5), "floor met");
  EXPECT_EQ(Verdict(scenario, 0.75), "aim met");
  scenario.better = Better::kLower;
  scenario.floor = 1.35;
  scenario.aim = 1.15;
  EXPECT_EQ(Verdict(scenario, 1.36), "below floor");
  EXPECT_EQ(Verdict(scenario, 1.35), "floor met");
  EXPECT_EQ(Verdict(scenario, 1.15), "aim met");
}

}  // namespace
}  // namespace weir::tools
