#include "proto/nearest_name.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(NearestNameTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("sparsty", "sparsity"), 1);
  EXPECT_EQ(EditDistance("sede", "seed"), 1);  // neighbours exchanged
  EXPECT_EQ(EditDistance("abcd", "badc"), 2);
}

TEST(NearestNameTest, SuggestsWhatIsNearAndListsOtherwise) {
  EXPECT_EQ(SuggestName("sparsty", {"method", "sparsity", "values"}), "; did you mean 'sparsity'?");
  EXPECT_EQ(SuggestName("wibble", {"method", "values"}), "; known here: method, values");
  EXPECT_EQ(SuggestName(std::string(1 << 20, 'x'), {"method"}), "; known here: method");
  EXPECT_EQ(SuggestName("x", {}), "; known here: ");
}

}  // namespace
}  // namespace weir
