#include "base/state_visitor.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Thing {
  uint64_t number = 0;
  double real = 0;
  bool flag = false;
  uint64_t count = 0;
  std::vector<float> fixed = std::vector<float>(2);
  std::vector<double> any;
  std::vector<float> residual = std::vector<float>(2);
  std::vector<float> of_all = std::vector<float>(1);
  KeyedRows rows;

  void VisitState(StateVisitor* state) {
    const StateVisitor::Scope scope(state, "thing");
    state->Number("number", &number);
    state->Real("real", &real);
    state->Flag("flag", &flag);
    state->Count("count", &count);
    state->Values("fixed", absl::MakeSpan(fixed));
    state->Vector("any", &any);
    state->Residual("residual", absl::MakeSpan(residual));
    state->ResidualOfAll("of_all", absl::MakeSpan(of_all));
    state->ResidualRows("rows", 2, &rows);
  }
};

std::string Save(Thing thing, const std::string& name) {
  std::string path = absl::StrCat(::testing::TempDir(), "/", ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".", name);
  const auto file = StateFileWriter::Create(path);
  StateSaver saver(file->get());
  thing.VisitState(&saver);
  EXPECT_TRUE(saver.status().ok()) << saver.status();
  EXPECT_TRUE((*file)->Finish().ok());
  return path;
}

Thing Restore(const std::vector<std::string>& paths, uint32_t rank, uint32_t workers) {
  const auto restorer = StateRestorer::Open(paths, rank, workers);
  EXPECT_TRUE(restorer.ok()) << restorer.status();
  Thing thing;
  thing.VisitState(restorer->get());
  EXPECT_TRUE((*restorer)->status().ok()) << (*restorer)->status();
  return thing;
}

Thing Example(uint64_t number) {
  Thing thing;
  thing.number = number;
  thing.real = 0.5;
  thing.flag = true;
  thing.count = number;
  thing.fixed = {1, -0.0f};
  thing.any = {1, 2, 3};
  thing.residual = {static_cast<float>(number), -0.0f};
  thing.of_all = {static_cast<float>(number)};
  thing.rows = {{9, number}, {1, 2, 3, 4}};
  return thing;
}

TEST(StateVisitorTest, OneWorkerGetsBackWhatItSaved) {
  const Thing thing = Restore({Save(Example(7), "0")}, 0, 1);
  EXPECT_EQ(thing.number, 7);
  EXPECT_EQ(thing.real, 0.5);
  EXPECT_TRUE(thing.flag);
  EXPECT_THAT(thing.fixed, ElementsAre(1, 0));
  EXPECT_TRUE(std::signbit(thing.fixed[1]));
  EXPECT_THAT(thing.any, ElementsAre(1, 2, 3));
  EXPECT_THAT(thing.residual, ElementsAre(7, 0));
  EXPECT_TRUE(std::signbit(thing.residual[1]));
  EXPECT_THAT(thing.rows.keys, ElementsAre(9, 7));
  EXPECT_THAT(thing.rows.values, ElementsAre(1, 2, 3, 4));
}

TEST(StateVisitorTest, ResidualsOfManyWorkersGoToFew) {
  const std::vector<std::string> saved = {Save(Example(1), "0"), Save(Example(2), "1"), Save(Example(3), "2")};
  const Thing first = Restore(saved, 0, 2);
  EXPECT_EQ(first.number, 1);
  EXPECT_EQ(first.count, 4);
  EXPECT_THAT(first.residual, ElementsAre(4, 0));  // of 0 and 2
  EXPECT_THAT(first.of_all, ElementsAre(6));
  EXPECT_THAT(first.rows.keys, UnorderedElementsAre(1, 3, 9));
  EXPECT_EQ(first.rows.values.size(), 6);
  const Thing second = Restore(saved, 1, 2);
  EXPECT_EQ(second.number, 2);
  EXPECT_THAT(second.residual, ElementsAre(2, 0));
}

TEST(StateVisitorTest, AWorkerMoreStartsWithoutResiduals) {
  const Thing added = Restore({Save(Example(5), "0")}, 1, 2);
  EXPECT_EQ(added.number, 5);
  EXPECT_EQ(added.count, 0);
  EXPECT_THAT(added.residual, ElementsAre(0, 0));
  EXPECT_THAT(added.of_all, ElementsAre(5));
  EXPECT_THAT(added.rows.keys, IsEmpty());
}

TEST(StateVisitorTest, WhatIsMissingOrOfAnotherSizeIsNamed) {
  const std::string path = Save(Example(5), "0");
  const auto missing = StateRestorer::Open({path}, 0, 1);
  uint64_t number = 3;
  (*missing)->Number("else", &number);
  EXPECT_EQ(number, 3);
  EXPECT_THAT(std::string((*missing)->status().message()), HasSubstr(path + " has no else"));
  const auto resized = StateRestorer::Open({path}, 0, 1);
  std::vector<float> three(3);
  (*resized)->Values("thing/fixed", absl::MakeSpan(three));
  EXPECT_THAT(std::string((*resized)->status().message()), HasSubstr("thing/fixed has 8 bytes, not 12"));
}

}  // namespace
}  // namespace weir
