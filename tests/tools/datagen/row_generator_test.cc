#include "tools/datagen/row_generator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weir::tools {
namespace {

std::string TextOf(const GeneratedRow& row) {
  std::string text(kRowBytesMax, '\0');
  text.resize(static_cast<size_t>(FormatRow(row, text.data()) - text.data()));
  return text;
}

std::string TextsOf(const RowOptions& options, uint64_t rows) {
  const RowGenerator generator(options);
  std::string text;
  for (uint64_t i = 0; i < rows; ++i) text += TextOf(generator.Row(i));
  return text;
}

TEST(RowGeneratorTest, RowIsAFunctionOfSeedAndIndex) {
  const RowGenerator first(RowOptions{}), second(RowOptions{});
  for (const uint64_t i : {uint64_t{0}, uint64_t{1}, uint64_t{999}, uint64_t{1} << 40}) {
    EXPECT_EQ(TextOf(first.Row(i)), TextOf(second.Row(i)));
    EXPECT_EQ(TextOf(first.Row(i)), TextOf(first.Row(i)));
    EXPECT_NE(TextOf(first.Row(i)), TextOf(first.Row(i + 1)));
  }
}

TEST(RowGeneratorTest, EverySettingChangesTheRows) {
  const std::string base = TextsOf(RowOptions{}, 200);
  RowOptions options;
  options.seed = 2;
  EXPECT_NE(TextsOf(options, 200), base);
  options = RowOptions{};
  options.teacher_seed = 2;
  EXPECT_NE(TextsOf(options, 200), base) << "labels";
  options = RowOptions{};
  options.skew = 1.5;
  EXPECT_NE(TextsOf(options, 200), base);
  options = RowOptions{};
  options.noise = 1;
  EXPECT_NE(TextsOf(options, 200), base) << "labels";
  options = RowOptions{};
  options.vocabulary = KaggleVocabulary(50);
  EXPECT_NE(TextsOf(options, 200), base);
}

// Mean probability of the rows with each rank of a small feature: what its ids are worth to the teacher.
std::vector<double> WorthOfIds(const RowOptions& options) {
  constexpr uint32_t kFeature = 8;  // 3 ids
  const RowGenerator generator(options);
  std::vector<double> sums(3), rows(3);
  for (uint64_t i = 0; i < 60000; ++i) {
    const GeneratedRow row = generator.Row(i);
    sums[row.ranks[kFeature]] += row.probability;
    rows[row.ranks[kFeature]] += 1;
  }
  for (size_t i = 0; i < 3; ++i) sums[i] /= rows[i];
  return sums;
}

TEST(RowGeneratorTest, SeedsShareTheTeacher) {
  RowOptions options;
  const std::vector<double> first = WorthOfIds(options);
  options.seed = 2;
  const std::vector<double> second = WorthOfIds(options);
  options.teacher_seed = 2;
  const std::vector<double> other = WorthOfIds(options);
  double difference = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(first[i], second[i], 0.008) << "sampling alone";
    difference = std::max(difference, std::abs(first[i] - other[i]));
  }
  EXPECT_GT(difference, 0.015);
}

TEST(RowGeneratorTest, LabelsFollowTheProbabilities) {
  const RowGenerator generator(RowOptions{});
  constexpr int kRows = 200000, kBins = 10;
  std::vector<double> rows(kBins), expected(kBins), clicks(kBins);
  double all_clicks = 0;
  for (uint64_t i = 0; i < kRows; ++i) {
    const GeneratedRow row = generator.Row(i);
    ASSERT_TRUE(row.probability > 0 && row.probability < 1);
    const int bin = static_cast<int>(row.probability * kBins);
    ++rows[bin];
    expected[bin] += row.probability;
    clicks[bin] += row.label;
    all_clicks += row.label;
  }
  // Binomial: within five standard deviations in every bin.
  for (int i = 0; i < kBins; ++i) EXPECT_NEAR(clicks[i], expected[i], 5 * std::sqrt(rows[i] * 0.25) + 1) << "bin " << i;
  EXPECT_NEAR(all_clicks / kRows, kClickRate, 0.01);
}

TEST(RowGeneratorTest, FullNoiseLeavesNothingToLearn) {
  RowOptions options;
  options.noise = 1;
  const RowGenerator generator(options);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_DOUBLE_EQ(generator.Row(i).probability, kClickRate);
}

TEST(RowGeneratorTest, RanksStayInTheirVocabularyAndReachItsEnds) {
  for (const double skew : {0.0, 0.7, 1.0, 1.05, 2.0}) {
    RowOptions options;
    options.skew = skew;
    options.vocabulary = KaggleVocabulary(20);
    const RowGenerator generator(options);
    std::vector<std::set<int64_t>> seen(kCategories);
    for (uint64_t i = 0; i < 20000; ++i) {
      const GeneratedRow row = generator.Row(i);
      for (uint32_t f = 0; f < kCategories; ++f) {
        ASSERT_GE(row.ranks[f], GeneratedRow::kMissing);
        ASSERT_LT(row.ranks[f], options.vocabulary[f]);
        if (row.ranks[f] >= 0) seen[f].insert(row.ranks[f]);
      }
      for (const int64_t value : row.integers) ASSERT_GE(value, GeneratedRow::kMissing);
    }
    for (uint32_t f = 0; f < kCategories; ++f) EXPECT_EQ(seen[f].size(), options.vocabulary[f]) << "feature " << f << ", skew " << skew;
  }
}

TEST(RowGeneratorTest, RanksFollowThePowerLaw) {
  RowOptions options;
  options.skew = 1.0;  // P(rank < k) = log(k + 1) / log(size + 1)
  const RowGenerator generator(options);
  constexpr uint32_t kFeature = 9;
  constexpr int kRows = 50000;
  const double size = options.vocabulary[kFeature];
  for (const int k : {1, 10, 1000}) {
    int below = 0;
    for (uint64_t i = 0; i < kRows; ++i) below += generator.Row(i).ranks[kFeature] < k ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(below) / kRows, std::log(k + 1) / std::log(size + 1), 0.012) << k;
  }
}

TEST(RowGeneratorTest, DefaultHasAboutEightAndAHalfUniqueIdsARow) {
  const RowGenerator generator(RowOptions{});
  double unique = 0;
  constexpr int kBatches = 5;
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    std::vector<std::set<int64_t>> ids(kCategories);
    for (uint64_t i = 0; i < 1024; ++i) {
      const GeneratedRow row = generator.Row(batch * 1024 + i);
      for (uint32_t f = 0; f < kCategories; ++f) ids[f].insert(row.ranks[f]);
    }
    for (const std::set<int64_t>& feature : ids) unique += static_cast<double>(feature.size());
  }
  EXPECT_NEAR(unique / kBatches / 1024, 8.5, 0.5);
}

TEST(RowGeneratorTest, RanksOfAFeatureHaveDifferentTexts) {
  for (const uint32_t feature : {0u, 25u}) {
    std::vector<uint32_t> ids;
    for (uint32_t rank = 0; rank < 300000; ++rank) ids.push_back(CategoryId(feature, rank));
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  }
}

TEST(FormatRowTest, WritesTheLongestAndTheEmptiestRow) {
  GeneratedRow row;
  row.integers.fill(GeneratedRow::kMissing);
  row.ranks.fill(GeneratedRow::kMissing);
  EXPECT_EQ(TextOf(row), "0" + std::string(39, '\t') + "\n");
  row.label = 1;
  row.integers.fill(std::numeric_limits<int64_t>::max());
  row.ranks.fill(0);
  const std::string text = TextOf(row);
  EXPECT_EQ(text.size(), kRowBytesMax - 1);
  EXPECT_EQ(text.substr(0, 22), "1\t9223372036854775807\t");
}

TEST(CheckRowOptionsTest, NamesTheOption) {
  RowOptions options;
  EXPECT_TRUE(CheckRowOptions(options).ok());
  options.vocabulary[7] = 0;
  EXPECT_NE(CheckRowOptions(options).message().find("--vocabulary"), std::string::npos);
  options = RowOptions{};
  options.skew = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(CheckRowOptions(options).message().find("--skew"), std::string::npos);
  options = RowOptions{};
  options.noise = 1.01;
  EXPECT_NE(CheckRowOptions(options).message().find("--noise"), std::string::npos);
}

}  // namespace
}  // namespace weir::tools
