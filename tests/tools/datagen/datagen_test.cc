#include "tools/datagen/datagen.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/binary_metrics.h"
#include "base/key.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/data_file.h"
#include "tests/worker/listed_ranges.h"
#include "worker/criteo_reader.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

std::string ContentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class DatagenTest : public ::testing::Test {
 protected:
  DatagenTest() {
    options_.rows = 30000;
    options_.out = testing::WriteFile("rows.tsv", "");
  }

  std::string Made() {
    EXPECT_EQ(RunDatagen(options_), absl::OkStatus());
    return ContentOf(options_.out);
  }

  nlohmann::json Quality(const std::string& path) { return nlohmann::json::parse(ContentOf(path + ".json")); }

  DatagenOptions options_;
};

TEST_F(DatagenTest, SameBytesWithAnyNumberOfThreads) {
  options_.threads = 1;
  const std::string one = Made();
  const std::string quality = ContentOf(options_.out + ".json");
  options_.threads = 3;
  EXPECT_TRUE(Made() == one);
  EXPECT_EQ(ContentOf(options_.out + ".json"), quality);
  options_.row.seed = 2;
  EXPECT_FALSE(Made() == one);
}

TEST_F(DatagenTest, TestRowsAreTheOnesThatFollow) {
  const std::string all = Made();
  options_.rows = 20000;
  options_.test_rows = 10000;
  options_.test_out = options_.out + ".test";
  const std::string train = Made();
  EXPECT_TRUE(train + ContentOf(options_.test_out) == all);
  EXPECT_EQ(Quality(options_.test_out)["rows"], 10000);
}

TEST_F(DatagenTest, ReaderReadsWhatWasMade) {
  const std::string content = Made();
  worker::ListedRanges ranges;
  ranges.Add(options_.out, content, 0, options_.rows);
  Data data;
  data.set_on_bad_row(Data::BAD_ROW_ERROR);
  DataSchema schema;
  schema.dense_features = kIntegers;
  schema.sparse_features.resize(kCategories);
  worker::CriteoReader reader(data, schema, &ranges);
  worker::Batch batch;
  ASSERT_EQ(reader.Next(static_cast<uint32_t>(options_.rows) + 1, &batch), absl::OkStatus());
  ASSERT_EQ(batch.samples, options_.rows);
  const RowGenerator generator(options_.row);
  for (uint32_t i = 0; i < batch.samples; ++i) {
    const GeneratedRow row = generator.Row(i);
    ASSERT_EQ(batch.labels[i], row.label);
    for (uint32_t j = 0; j < kIntegers; ++j) ASSERT_EQ(batch.dense[i * kIntegers + j], worker::CriteoDense(row.integers[j])) << "row " << i;
    for (uint32_t j = 0; j < kCategories; ++j) {
      const bool missing = row.ranks[j] == GeneratedRow::kMissing;
      const std::string text = missing ? "" : absl::StrCat(absl::Hex(CategoryId(j, static_cast<uint32_t>(row.ranks[j])), absl::kZeroPad8));
      ASSERT_EQ(batch.features[j].keys[i], worker::CriteoKey(j, text)) << "row " << i;
    }
  }
}

TEST_F(DatagenTest, QualityBesideTheFileIsThatOfItsLabels) {
  options_.row.seed = 12345678901234567890u;
  const std::string content = Made();
  const auto clicks = static_cast<double>(std::count(content.begin(), content.end(), '\n'));
  double positives = content[0] == '1' ? 1 : 0;
  for (size_t at = content.find('\n'); at + 1 < content.size(); at = content.find('\n', at + 1))
    positives += content[at + 1] == '1' ? 1 : 0;
  const nlohmann::json quality = Quality(options_.out);
  EXPECT_EQ(quality["rows"], options_.rows);
  EXPECT_EQ(quality["seed"], 12345678901234567890u);
  EXPECT_EQ(quality["teacher_seed"], 1);
  EXPECT_NEAR(quality["ctr"], positives / clicks, 1e-6);
  const RowGenerator generator(options_.row);
  std::vector<float> scores;
  std::vector<uint8_t> labels;
  for (uint64_t i = 0; i < options_.rows; ++i) {
    scores.push_back(static_cast<float>(generator.Row(i).probability));
    labels.push_back(generator.Row(i).label);
  }
  EXPECT_NEAR(quality["logloss"], EvaluateBinary(scores, labels).logloss, 1e-5);
  EXPECT_NEAR(quality["auc"], EvaluateBinary(scores, labels).auc, 1e-4);
}

// One pass of logistic regression with Adagrad over hashed features: AUC of its predictions, each made before its row was learnt, on the
// last third.
double AucOfLinearModel(const RowGenerator& generator, uint64_t rows) {
  constexpr uint32_t kWeights = 1 << 18;
  constexpr float kRate = 0.05f;
  std::vector<float> weights(kWeights), squares(kWeights, 0.01f);
  std::vector<float> scores;
  std::vector<uint8_t> labels;
  for (uint64_t i = 0; i < rows; ++i) {
    const GeneratedRow row = generator.Row(i);
    std::vector<std::pair<uint32_t, float>> inputs = {{0, 1.0f}};
    for (uint32_t j = 0; j < kIntegers; ++j) inputs.push_back({j + 1, worker::CriteoDense(row.integers[j])});
    for (uint32_t j = 0; j < kCategories; ++j) inputs.push_back({100 + Mix64(j, row.ranks[j]) % (kWeights - 100), 1.0f});
    float logit = 0;
    for (const auto& [weight, value] : inputs) logit += weights[weight] * value;
    const float score = 1 / (1 + std::exp(-logit));
    for (const auto& [weight, value] : inputs) {
      const float gradient = (score - row.label) * value;
      squares[weight] += gradient * gradient;
      weights[weight] -= kRate * gradient / std::sqrt(squares[weight]);
    }
    if (i < rows * 2 / 3) continue;
    scores.push_back(score);
    labels.push_back(row.label);
  }
  return EvaluateBinary(scores, labels).auc;
}

TEST_F(DatagenTest, TeacherCanBeLearntInPart) {
  const double auc = AucOfLinearModel(RowGenerator(options_.row), 200000);
  EXPECT_GT(auc, 0.70);
  EXPECT_LT(auc, 0.77) << "pairs of ids are beyond a linear model, and the teacher itself has 0.79";
}

TEST_F(DatagenTest, WrongOptionsAreNamedAndNothingIsWritten) {
  const auto refused = [this] {
    const absl::Status status = RunDatagen(options_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(ContentOf(options_.out), "");
    return std::string(status.message());
  };
  const DatagenOptions good = options_;
  options_.rows = 0;
  EXPECT_THAT(refused(), HasSubstr("--rows"));
  options_ = good;
  options_.test_rows = 5;
  EXPECT_THAT(refused(), HasSubstr("--test-out"));
  options_.test_out = options_.out;
  EXPECT_THAT(refused(), HasSubstr("the same"));
  options_ = good;
  options_.row.noise = -1;
  EXPECT_THAT(refused(), HasSubstr("--noise"));
  options_ = good;
  options_.out = "rows.tsv.gz";
  EXPECT_THAT(refused(), HasSubstr("rows.tsv.gz"));
}

TEST_F(DatagenTest, FileThatCannotBeWrittenIsNamed) {
  options_.out = "/no/such/folder/rows.tsv";
  EXPECT_THAT(std::string(RunDatagen(options_).message()), HasSubstr("/no/such/folder/rows.tsv"));
}

TEST_F(DatagenTest, CommandLineSaysTheSame) {
  const auto call = [this](const std::string& arguments) {
    CLI::App app;
    absl::Status status = absl::UnknownError("not called");
    AddDatagenCommand(&app, &status);
    app.parse(absl::StrCat("datagen --rows 500 --out ", options_.out, " ", arguments));
    return status;
  };
  ASSERT_EQ(call("--seed 9 --vocabulary 70 --skew 0.5 --noise 0.2 --teacher-seed 4 --threads 1"), absl::OkStatus());
  const std::string made = ContentOf(options_.out);
  options_.rows = 500;
  options_.row = {9, 4, KaggleVocabulary(70), 0.5, 0.2};
  EXPECT_EQ(Made(), made);
  std::vector<std::string> sizes(kCategories, "5");
  ASSERT_EQ(call("--vocabulary " + absl::StrJoin(sizes, ",")), absl::OkStatus());
  options_.row = RowOptions{};
  options_.row.vocabulary.fill(5);
  const std::string small = ContentOf(options_.out);
  EXPECT_EQ(Made(), small);
  EXPECT_THAT(std::string(call("--vocabulary 1,2,3").message()), HasSubstr("--vocabulary takes 1 or 26 numbers"));
}

}  // namespace
}  // namespace weir::tools
