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

}  // namespace
}  // namespace weir::tools
