#include "tools/report/text_table.h"

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

TEST(TextTableTest, AlignsCellsByCharactersNotBytes) {
  EXPECT_EQ(TextTable({{"arm", "loss"}, {"plain", "0.5 ± 0.1"}, {"a", "7"}}),
            "arm          loss\n"
            "plain   0.5 ± 0.1\n"
            "a               7\n");
}

TEST(TextTableTest, ShortLinesAndNoLines) {
  EXPECT_EQ(TextTable({{"", "b", "c"}, {"long"}}), "       b   c\nlong\n");
  EXPECT_EQ(TextTable({}), "");
}

TEST(MarkdownTableTest, HasAHeadAndOneLineForEach) {
  EXPECT_EQ(MarkdownTable({}), "");
  const std::vector<std::vector<std::string>> lines = {{"arm", "loss", "front"}, {"a|b", "0.5"}, {"c", "", "*"}};
  EXPECT_EQ(MarkdownTable(lines),
            "| arm | loss | front |\n"
            "|---|---:|---:|\n"
            "| a\\|b | 0.5 | |\n"
            "| c | | * |\n");
}

}  // namespace
}  // namespace weir::tools
