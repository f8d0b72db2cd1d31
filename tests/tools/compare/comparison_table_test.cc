#include "tools/compare/comparison_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/compare/sample_comparison.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ComparisonTableTest, SaysEverything) {
  EXPECT_EQ(ComparisonTable(SampleComparison()),
            "arm     seeds            log-loss   vs plain       p                  NE                 AUC   bytes/sample     vs plain   "
            "wall time   front\n"
            "plain       2   0.51000 ± 0.01414                      1.02000 ± 0.02828   0.49000 ± 0.01414           80 B                   "
            "15.0 s       *\n"
            "small       2   0.52500 ± 0.02121   +2.941 %   0.205   1.05000 ± 0.04243   0.47500 ± 0.02121           10 B   8.0x fewer      "
            "15.0 s       *\n"
            "half        1             0.53000   +1.923 %       -             1.06000             0.47000           20 B   4.0x fewer      "
            "20.0 s\n"
            "\n"
            "bytes/sample   lookup request   lookup reply   push   dense   control   in all\n"
            "plain                     0 B           40 B   40 B     0 B       0 B     80 B\n"
            "small                     0 B            5 B    5 B     0 B       0 B     10 B\n"
            "half                      0 B           10 B   10 B     0 B       0 B     20 B\n"
            "\n"
            "plain is also what arm=uncompressed gives\n"
            "half-1 failed: worker 1 was killed; the end of its log: last words\n"
            "later: 2 of 2 seeds still to run\n"
            "odd refused: odd has no effect\n");
}

TEST(ComparisonMarkdownTest, SaysTheSame) {
  const std::string text = ComparisonMarkdown(SampleComparison());
  EXPECT_THAT(text,
              HasSubstr("| arm | seeds | log-loss | vs plain | p | NE | AUC | bytes/sample | vs plain | wall time | front |\n|---|---:|"));
  EXPECT_THAT(
      text,
      HasSubstr("\n| small | 2 | 0.52500 ± 0.02121 | +2.941 % | 0.205 | 1.05000 ± 0.04243 | 0.47500 ± 0.02121 | 10 B | 8.0x fewer |"));
  EXPECT_THAT(text, HasSubstr("\n| half | 0 B | 10 B | 10 B | 0 B | 0 B | 20 B |\n"));
  EXPECT_THAT(text, HasSubstr("\n- later: 2 of 2 seeds still to run\n"));
}

TEST(ComparisonTableTest, WithoutARunOnlyWhatIsMissing) {
  Comparison comparison = SampleComparison();
  for (Arm& arm : comparison.arms) {
    for (Cell& cell : arm.cells) cell.state = Cell::State::kToRun;
  }
  const std::string table = ComparisonTable(comparison);
  EXPECT_THAT(table, Not(HasSubstr("log-loss")));
  EXPECT_THAT(table, HasSubstr("plain: 2 of 2 seeds still to run\n"));
}

TEST(ComparisonTableTest, TinyChancesAreNotZero) {
  Comparison comparison = SampleComparison();
  comparison.arms[1].cells[0].result.logloss = 0.51;
  comparison.arms[1].cells[1].result.logloss = 0.530001;
  EXPECT_THAT(ComparisonTable(comparison), HasSubstr("<0.001"));
}

TEST(ComparisonTableTest, ReasonsInOneLine) {
  EXPECT_EQ(OneLine("worker 1 died; its log:\nstarted\nbad row\n"), "worker 1 died; its log: bad row");
  EXPECT_EQ(OneLine("a\n\n"), "a");
  EXPECT_EQ(OneLine(""), "");
  EXPECT_EQ(OneLine("a"), "a");
}

}  // namespace
}  // namespace weir::tools
