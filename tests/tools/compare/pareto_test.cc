#include "tools/compare/pareto.h"

#include <cmath>

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

TEST(ParetoTest, MarksWhatNobodyBeats) {
  EXPECT_EQ(ParetoFront({{100, 0.50}, {50, 0.51}, {60, 0.52}, {10, 0.60}, {200, 0.50}}),
            (std::vector<bool>{true, true, false, true, false}));
}

TEST(ParetoTest, EqualPointsStandTogether) { EXPECT_EQ(ParetoFront({{1, 1}, {1, 1}, {1, 2}}), (std::vector<bool>{true, true, false})); }

TEST(ParetoTest, UnknownPointsNeitherStandNorBeat) {
  EXPECT_EQ(ParetoFront({{NAN, 0.1}, {5, 0.5}, {1, NAN}}), (std::vector<bool>{false, true, false}));
  EXPECT_TRUE(ParetoFront({}).empty());
}

}  // namespace
}  // namespace weir::tools
