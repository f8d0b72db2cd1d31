#include "tools/compare/grid_progress.h"

#include <cmath>
#include <cstdio>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GridProgressTest, TellsTheTimeLeftFromWhatEnded) {
  // Cells take 10 s; the third of five runs for 4 s: 6 s of it are left and two are to come.
  EXPECT_DOUBLE_EQ(GridSecondsLeft({5, 2, 20, 4, 0}), 26);
  // It takes longer than the others: the two to come stay.
  EXPECT_DOUBLE_EQ(GridSecondsLeft({5, 2, 20, 14, 0}), 20);
  // Nothing has ended: a quarter took 3 s, so 12 s each.
  EXPECT_DOUBLE_EQ(GridSecondsLeft({2, 0, 0, 3, 0.25}), 21);
  EXPECT_TRUE(std::isnan(GridSecondsLeft({2, 0, 0, 3, 0.01})));
}

TEST(GridProgressTest, OneLine) {
  EXPECT_EQ(GridLine({5, 2, 20, 4, 0}, "arm, seed 1", 100), "cell 3 of 5: arm, seed 1, 26.0 s left");
  EXPECT_EQ(GridLine({5, 0, 0, 0, 0}, "arm, seed 1", 100), "cell 1 of 5: arm, seed 1");
  EXPECT_EQ(GridLine({5, 0, 0, 0, 0}, "arm, seed 1", 9), "cell 1 of");
}

TEST(GridProgressTest, WithoutTerminalALineForEachCellAndItsOutcome) {
  std::FILE* const out = std::tmpfile();
  ASSERT_NE(out, nullptr);
  {
    GridProgress progress(out, 2);
    progress.Begin("a, seed 1", Cluster());
    StatusReply status;
    status.set_state(StatusReply::STATE_TRAINING);
    progress.Show(status);
    progress.End("a-1: done");
    progress.Begin("b, seed 1", Cluster());
    progress.End("b-1: failed");
  }
  std::string text(static_cast<size_t>(std::ftell(out)), '\0');
  std::rewind(out);
  ASSERT_EQ(std::fread(text.data(), 1, text.size(), out), text.size());
  std::fclose(out);
  EXPECT_THAT(text,
              AllOf(HasSubstr("cell 1 of 2: a, seed 1\n"), HasSubstr("a-1: done\ncell 2 of 2: b, seed 1"), HasSubstr("b-1: failed\n")));
}

}  // namespace
}  // namespace weir::tools
