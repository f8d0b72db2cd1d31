#include "worker/criteo_line.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::worker {
namespace {

using ::testing::HasSubstr;

// A good row's fields.
std::vector<std::string> GoodFields() {
  std::vector<std::string> fields = {"1"};
  for (uint32_t i = 0; i < kCriteoIntegers; ++i) fields.push_back(absl::StrCat(i * i));
  for (uint32_t i = 0; i < kCriteoCategories; ++i) fields.push_back(absl::StrCat(absl::Hex(i * 0x9e3779b9u, absl::kZeroPad8)));
  return fields;
}

std::string LineWith(uint32_t column, const std::string& text) {
  std::vector<std::string> fields = GoodFields();
  fields[column - 1] = text;
  return absl::StrJoin(fields, "\t");
}

// Why a line is bad; "" when it is good.
std::string WhyBad(absl::string_view line) {
  CriteoLine parsed;
  std::string error;
  return ParseCriteoLine(line, &parsed, &error) ? "" : error;
}

float DenseOf(const std::string& text) {
  CriteoLine parsed;
  std::string error;
  EXPECT_TRUE(ParseCriteoLine(LineWith(4, text), &parsed, &error)) << error;
  return parsed.dense[2];
}

// Field by field with library functions: what the parser must agree with. False: a bad row.
bool ReferenceParse(absl::string_view line, CriteoLine* parsed) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  if (fields.size() != kCriteoColumns || (fields[0] != "0" && fields[0] != "1")) return false;
  parsed->label = fields[0] == "1" ? 1 : 0;
  for (uint32_t i = 0; i < kCriteoIntegers; ++i) {
    double value = 0;
    if (!fields[1 + i].empty() && (!absl::SimpleAtod(fields[1 + i], &value) || !std::isfinite(value))) return false;
    parsed->dense[i] = static_cast<float>(std::log(std::max(value, 0.0) + 1));
  }
  for (uint32_t i = 0; i < kCriteoCategories; ++i) parsed->keys[i] = CriteoKey(i, fields[1 + kCriteoIntegers + i]);
  return true;
}

TEST(CriteoLineTest, ReadsLabelIntegersAndCategories) {
  const std::vector<std::string> fields = GoodFields();
  CriteoLine parsed;
  std::string error;
  ASSERT_TRUE(ParseCriteoLine(absl::StrJoin(fields, "\t"), &parsed, &error)) << error;
  EXPECT_EQ(parsed.label, 1);
  for (uint32_t i = 0; i < kCriteoIntegers; ++i) EXPECT_FLOAT_EQ(parsed.dense[i], std::log(i * i + 1.0f));
  for (uint32_t i = 0; i < kCriteoCategories; ++i) EXPECT_EQ(parsed.keys[i], CriteoKey(i, fields[14 + i]));
}

TEST(CriteoLineTest, DenseValues) {
  EXPECT_EQ(DenseOf(""), 0) << "missing";
  EXPECT_EQ(DenseOf("0"), 0);
  EXPECT_EQ(DenseOf("-1"), 0);
  EXPECT_FLOAT_EQ(DenseOf("7"), std::log(8.0f));
  EXPECT_FLOAT_EQ(DenseOf("007"), std::log(8.0f));
  EXPECT_FLOAT_EQ(DenseOf("2.5"), std::log(3.5f));
  EXPECT_FLOAT_EQ(DenseOf("1e3"), std::log(1001.0f));
  EXPECT_FLOAT_EQ(DenseOf("999999999999999999"), std::log(1e18f));
  EXPECT_FLOAT_EQ(DenseOf("1000000000000000000000"), std::log(1e21f));
  EXPECT_EQ(DenseOf("-1000000000000000000000"), 0);
}

TEST(CriteoLineTest, KeysArePartOfTheFormat) {
  // Golden: rows of trained tables are found by these.
  EXPECT_EQ(CriteoKey(0, ""), 0x2d06800538d394c2u);
  EXPECT_EQ(CriteoKey(0, "68fd1e64"), 0xb0431058060b4du);
  EXPECT_EQ(CriteoKey(25, "68fd1e64"), 0x20a23b238027c68eu);
}

TEST(CriteoLineTest, CategoriesAreAnyText) {
  for (const std::string text : {"", "a", "1234567", "12345678", "123456789", "ein längerer Text mit Leerzeichen", "1234567\r"}) {
    for (const uint32_t column : {15, 27, 40}) {
      CriteoLine parsed;
      std::string error;
      ASSERT_TRUE(ParseCriteoLine(LineWith(column, text), &parsed, &error)) << error;
      EXPECT_EQ(parsed.keys[column - 15], CriteoKey(column - 15, text)) << text << " in column " << column;
    }
  }
}

TEST(CriteoLineTest, WrongNumberOfColumns) {
  const std::string good = absl::StrJoin(GoodFields(), "\t");
  EXPECT_EQ(WhyBad(good), "");
  EXPECT_EQ(WhyBad(good + "\t"), "column 40: the line has 41 columns, 40 are expected (tab separated)");
  EXPECT_EQ(WhyBad(good.substr(0, good.rfind('\t'))), "column 39: the line has 39 columns, 40 are expected (tab separated)");
  EXPECT_EQ(WhyBad("1\t5"), "column 2: the line has 2 columns, 40 are expected (tab separated)");
  EXPECT_EQ(WhyBad("1,2,3"), "column 1: the line has 1 columns, 40 are expected (tab separated)");
  EXPECT_EQ(WhyBad("1"), "column 1: the line has 1 columns, 40 are expected (tab separated)");
  EXPECT_EQ(WhyBad(""), "column 1: the line is empty, 40 columns are expected");
}

TEST(CriteoLineTest, LabelThatIsNeither0Nor1) {
  for (const std::string text : {"2", "-1", "", "1.0", "01", "x", "10"}) {
    EXPECT_EQ(WhyBad(LineWith(1, text)), absl::StrCat("column 1: the label \"", text, "\" is neither 0 nor 1"));
  }
}

TEST(CriteoLineTest, DenseValueThatIsNotAFiniteNumber) {
  for (const std::string text : {"nan", "inf", "-inf", "1e999", "abc", "-", "1 2", "0x1z", "--1", "5-"}) {
    EXPECT_EQ(WhyBad(LineWith(2, text)), absl::StrCat("column 2 (I1): \"", text, "\" is not a finite number"));
    EXPECT_EQ(WhyBad(LineWith(14, text)), absl::StrCat("column 14 (I13): \"", text, "\" is not a finite number"));
  }
  EXPECT_THAT(WhyBad(LineWith(5, std::string(1000, 'y'))), HasSubstr(std::string(40, 'y') + "...\""));
  EXPECT_THAT(WhyBad(LineWith(5, "\x01\xff")), HasSubstr("\\x01\\xff"));
}

TEST(CriteoLineTest, AgreesWithTheReferenceOnChangedLines) {
  const std::string good = absl::StrJoin(GoodFields(), "\t");
  const std::string alphabet = "\t\t01259abcf-+.e \rn\xfe";
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string line = good;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % line.size();
      const char letter = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0)
        line.erase(at, 1 + random() % 2);
      else if (random() % 2 == 0)
        line.insert(at, 1, letter);
      else
        line[at] = letter;
    }
    CriteoLine parsed, expected;
    std::string error;
    const bool good_row = ParseCriteoLine(line, &parsed, &error);
    ASSERT_EQ(good_row, ReferenceParse(line, &expected)) << line << "\n" << error;
    if (!good_row) continue;
    ++accepted;
    ASSERT_EQ(parsed.label, expected.label) << line;
    for (uint32_t j = 0; j < kCriteoIntegers; ++j) ASSERT_NEAR(parsed.dense[j], expected.dense[j], 1e-5) << line;
    for (uint32_t j = 0; j < kCriteoCategories; ++j) ASSERT_EQ(parsed.keys[j], expected.keys[j]) << line;
  }
  EXPECT_GT(accepted, 10000);
}

}  // namespace
}  // namespace weir::worker
