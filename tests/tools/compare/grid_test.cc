#include "tools/compare/grid.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ValuesOf(absl::string_view text) {
  const auto axis = ParseVary(text);
  EXPECT_TRUE(axis.ok()) << axis.status();
  return axis.ok() ? axis->values : std::vector<std::string>();
}

std::string ErrorOf(absl::string_view text) {
  const auto axis = ParseVary(text);
  EXPECT_EQ(axis.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(axis.status().message());
}

TEST(GridTest, SplitsAtTopLevelCommasOnly) {
  EXPECT_THAT(ValuesOf("compression.dense.sparsity=0,0.9, 0.99"), ElementsAre("0", "0.9", "0.99"));
  EXPECT_THAT(ValuesOf("compression.dense={method: none},{method: dct, sparsity: 0.9}"),
              ElementsAre("{method: none}", "{method: dct, sparsity: 0.9}"));
  EXPECT_THAT(ValuesOf("model.top=[64, 1],[32, [1]]"), ElementsAre("[64, 1]", "[32, [1]]"));
  EXPECT_THAT(ValuesOf(R"(data.train=["a,\",b.tsv"],['}, c'])"), ElementsAre(R"(["a,\",b.tsv"])", "['}, c']"));
  EXPECT_EQ(ParseVary(" a.b =1")->key, "a.b");
}

TEST(GridTest, RefusesWhatHasNoMeaning) {
  EXPECT_THAT(ErrorOf("training.epochs"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(ErrorOf("training.epochs=1,,2"), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf("training.epochs="), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf("model.top=[1,2"), HasSubstr("']' is missing"));
  EXPECT_THAT(ErrorOf("model.top=[1,2}"), HasSubstr("'}' closes nothing"));
  EXPECT_THAT(ErrorOf("data.train=\"a"), HasSubstr("quote"));
  EXPECT_THAT(ErrorOf("seed=1,2"), HasSubstr("--seeds"));
  EXPECT_THAT(ErrorOf("name=a,b"), HasSubstr("--out"));
  EXPECT_THAT(ErrorOf("output.dir=a,b"), HasSubstr("--out"));
}

TEST(GridTest, MakesTheProductWithReadableNames) {
  const auto arms = ExpandGrid({{"compression.dense.sparsity", {"0", "0.99"}}, {"compression.lookup.method", {"none", "dct"}}});
  ASSERT_TRUE(arms.ok()) << arms.status();
  std::vector<std::string> lines;
  for (const ArmSettings& arm : *arms) lines.push_back(absl::StrCat(arm.name, ": ", absl::StrJoin(arm.sets, " ")));
  EXPECT_THAT(lines, ElementsAre("dense.sparsity-0_lookup.method-none: compression.dense.sparsity=0 compression.lookup.method=none",
                                 "dense.sparsity-0_lookup.method-dct: compression.dense.sparsity=0 compression.lookup.method=dct",
                                 "dense.sparsity-0.99_lookup.method-none: compression.dense.sparsity=0.99 compression.lookup.method=none",
                                 "dense.sparsity-0.99_lookup.method-dct: compression.dense.sparsity=0.99 compression.lookup.method=dct"));
}

TEST(GridTest, WithoutAxesTheJobAsItIs) {
  const auto arms = ExpandGrid({});
  ASSERT_EQ(arms->size(), 1u);
  EXPECT_EQ((*arms)[0].name, "job");
  EXPECT_TRUE((*arms)[0].sets.empty());
}

// Folders may hold letters, digits, '-', '_' and '.', in up to 100 bytes with the seed.
TEST(GridTest, NamesAreFoldersAndUnique) {
  const std::string long_value(200, 'x');
  const auto arms = ExpandGrid({{"embeddings.optimizer.type", {"a b", "a/b", "{a: b}", "-1", long_value, long_value + "y", "'..'"}}});
  ASSERT_TRUE(arms.ok()) << arms.status();
  std::set<std::string> names;
  for (const ArmSettings& arm : *arms) {
    EXPECT_TRUE(names.insert(arm.name).second) << arm.name;
    EXPECT_LE(arm.name.size(), 75u);
    EXPECT_EQ(arm.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_."), std::string::npos) << arm.name;
  }
  EXPECT_EQ((*arms)[0].name, "optimizer.type-a-b");
  EXPECT_EQ((*arms)[1].name, "optimizer.type-a-b_2");
}

TEST(GridTest, KeysThatEndAlikeKeepTheirWholeName) {
  const auto arms = ExpandGrid({{"model.optimizer.type", {"sgd"}}, {"embeddings.optimizer.type", {"adam"}}});
  EXPECT_EQ((*arms)[0].name, "model.optimizer.type-sgd_embeddings.optimizer.type-adam");
}

TEST(GridTest, RefusesKeysThatUndoEachOtherAndTooManyArms) {
  const auto twice = ExpandGrid({{"a.b", {"1"}}, {"a.b", {"2"}}});
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr("twice"));
  const auto within = ExpandGrid({{"compression.dense.sparsity", {"0.9"}}, {"compression.dense", {"{}"}}});
  EXPECT_THAT(std::string(within.status().message()), HasSubstr("compression.dense.sparsity: lies within compression.dense"));
  EXPECT_TRUE(ExpandGrid({{"a.b", {"1"}}, {"a.bc", {"2"}}}).ok());
  const std::vector<std::string> many(101, "1");
  const auto product = ExpandGrid({{"a.b", many}, {"c.d", many}});
  EXPECT_THAT(std::string(product.status().message()), HasSubstr("more than 1000"));
}

}  // namespace
}  // namespace weir::tools
