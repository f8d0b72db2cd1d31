#include "worker/criteo_reader.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"
#include "tests/worker/listed_ranges.h"

namespace weir::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::WriteDataFile;

// A row that can be told by its I1.
std::string Row(int number) {
  std::string row = absl::StrCat(number % 2, "\t", number);
  for (int i = 2; i <= 13; ++i) absl::StrAppend(&row, "\t", i);
  for (int i = 1; i <= 26; ++i) absl::StrAppend(&row, "\t", absl::Hex(number % (i + 1), absl::kZeroPad8));
  return row;
}

std::string Rows(int begin, int end) {
  std::string rows;
  for (int i = begin; i < end; ++i) absl::StrAppend(&rows, Row(i), "\n");
  return rows;
}

// The I1 of each sample.
std::vector<int> NumbersOf(const Batch& batch) {
  std::vector<int> numbers;
  for (uint32_t i = 0; i < batch.samples; ++i) {
    numbers.push_back(static_cast<int>(std::lround(std::exp(batch.dense[i * 13]) - 1)));
    EXPECT_EQ(batch.labels[i], numbers.back() % 2);
  }
  return numbers;
}

class CriteoReaderTest : public ::testing::Test {
 protected:
  CriteoReaderTest() {
    data_.set_on_bad_row(Data::BAD_ROW_ERROR);
    data_.set_keys(Data::KEYS_HASH64);
    schema_.dense_features = 13;
    for (int i = 1; i <= 26; ++i) schema_.sparse_features.push_back(absl::StrCat("C", i));
  }

  CriteoReader Open() { return CriteoReader(data_, schema_, &ranges_); }

  // All rows of one file of this content, or the first error.
  absl::Status ReadAll(const std::string& file, const std::string& content, uint64_t rows, std::vector<int>* numbers) {
    ranges_.Add(file, content, 0, rows);
    CriteoReader reader = Open();
    Batch batch;
    for (;;) {
      const absl::Status status = reader.Next(4, &batch);
      bad_rows_ = reader.bad_rows();
      if (!status.ok() || batch.samples == 0) return status;
      for (const int number : NumbersOf(batch)) numbers->push_back(number);
    }
  }

  // The error of reading this one line between good ones.
  std::string ErrorOf(const std::string& line) {
    const std::string content = absl::StrCat(Rows(0, 2), line, "\n", Rows(3, 5));
    const std::string file = WriteDataFile("bad", content);
    std::vector<int> numbers;
    const absl::Status status = ReadAll(file, content, 5, &numbers);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    const std::string place = absl::StrCat(file, ", line 3, ");
    EXPECT_THAT(std::string(status.message()), HasSubstr(place));
    return std::string(status.message()).substr(place.size());
  }

  Data data_;
  DataSchema schema_;
  ListedRanges ranges_;
  uint64_t bad_rows_ = 0;
};

TEST_F(CriteoReaderTest, BatchesGoOnOverRangesAndFiles) {
  const std::string first = Rows(0, 10), second = Rows(10, 14);
  const std::string a = WriteDataFile("a", first), b = WriteDataFile("b.gz", second);
  ranges_.Add(a, first, 2, 3);
  ranges_.Add(a, first, 5, 2);
  ranges_.Add(b, second, 1, 2);
  ranges_.Add(a, first, 0, 1);
  CriteoReader reader = Open();
  Batch batch;
  ASSERT_TRUE(reader.Next(4, &batch).ok());
  EXPECT_THAT(NumbersOf(batch), ElementsAre(2, 3, 4, 5));
  ASSERT_TRUE(reader.Next(3, &batch).ok());
  EXPECT_THAT(NumbersOf(batch), ElementsAre(6, 11, 12));
  ASSERT_TRUE(reader.Next(4, &batch).ok());
  EXPECT_THAT(NumbersOf(batch), ElementsAre(0));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(reader.Next(4, &batch).ok());
    EXPECT_EQ(batch.samples, 0);
  }
}

TEST_F(CriteoReaderTest, BatchHoldsOneKeyForEachSampleAndFeature) {
  const std::string content = Rows(0, 5);
  ranges_.Add(WriteDataFile("a", content), content, 0, 5);
  CriteoReader reader = Open();
  Batch batch;
  batch.features.resize(3);
  batch.features[1].ends = {1, 2, 3};  // what an earlier use may have left
  for (const uint32_t samples : {3, 2}) {
    ASSERT_TRUE(reader.Next(3, &batch).ok());
    ASSERT_EQ(batch.samples, samples);
    EXPECT_EQ(batch.dense.size(), samples * 13);
    EXPECT_EQ(batch.labels.size(), samples);
    ASSERT_EQ(batch.features.size(), 26);
    for (uint32_t i = 0; i < 26; ++i) {
      EXPECT_EQ(batch.features[i].table, i);
      EXPECT_TRUE(batch.features[i].ends.empty());
      ASSERT_EQ(batch.features[i].keys.size(), samples);
    }
  }
  EXPECT_EQ(batch.features[25].keys[1], CriteoKey(25, "00000004")) << "row 4";
}

TEST_F(CriteoReaderTest, BucketsAreTheHashModuloTheirNumber) {
  data_.set_keys(Data::KEYS_BUCKETS);
  data_.set_buckets(1000);
  const std::string content = Rows(7, 8);
  ranges_.Add(WriteDataFile("a", content), content, 0, 1);
  CriteoReader reader = Open();
  Batch batch;
  ASSERT_TRUE(reader.Next(1, &batch).ok());
  EXPECT_EQ(batch.features[25].keys[0], CriteoKey(25, "00000007") % 1000);
}

TEST_F(CriteoReaderTest, AnyPackingAndLineEndReadsTheSame) {
  std::string windows;
  for (int i = 0; i < 30; ++i) absl::StrAppend(&windows, Row(i), "\r\n");
  std::string content = Rows(0, 30);
  content.pop_back();  // no end of the last line
  for (const std::string& text : {content, windows}) {
    for (const char* name : {"a", "a.gz", "a.xz", "a.zst"}) {
      const std::string file = WriteDataFile(name, text);
      ranges_.Add(file, text, 20, 10);
      ranges_.Add(file, text, 4, 6);
      CriteoReader reader = Open();
      Batch batch;
      ASSERT_TRUE(reader.Next(16, &batch).ok());
      EXPECT_THAT(NumbersOf(batch), ElementsAre(20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 4, 5, 6, 7, 8, 9));
      for (uint32_t i = 0; i < 10; ++i)
        EXPECT_EQ(batch.features[25].keys[i], CriteoKey(25, absl::StrCat(absl::Hex((20 + i) % 27, absl::kZeroPad8))));
    }
  }
}

TEST_F(CriteoReaderTest, WrongColumnCount) {
  EXPECT_THAT(ErrorOf(Row(2) + "\tmore"), HasSubstr("column 40: the line has 41 columns"));
  EXPECT_THAT(ErrorOf(Row(2).substr(0, 20)), HasSubstr("columns, 40 are expected"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("the line is empty"));
}

TEST_F(CriteoReaderTest, WrongLabel) {
  EXPECT_THAT(ErrorOf("3" + Row(2).substr(1)), HasSubstr("column 1: the label \"3\" is neither 0 nor 1; data.on_bad_row: skip"));
}

TEST_F(CriteoReaderTest, DenseValueThatIsNotFinite) {
  EXPECT_THAT(ErrorOf("0\tnan" + Row(2).substr(3)), HasSubstr("column 2 (I1): \"nan\" is not a finite number"));
  EXPECT_THAT(ErrorOf("0\tseven" + Row(2).substr(3)), HasSubstr("column 2 (I1): \"seven\" is not a finite number"));
}

TEST_F(CriteoReaderTest, SkipLeavesBadRowsOutAndCountsThem) {
  data_.set_on_bad_row(Data::BAD_ROW_SKIP);
  std::string content;
  for (int i = 0; i < 20; ++i) absl::StrAppend(&content, i % 3 == 1 ? "bad" : Row(i), "\n");
  std::vector<int> numbers;
  ASSERT_TRUE(ReadAll(WriteDataFile("a", content), content, 20, &numbers).ok());
  EXPECT_THAT(numbers, ElementsAre(0, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18));
  EXPECT_EQ(bad_rows_, 7);
}

TEST_F(CriteoReaderTest, SkipDoesNotHideDamagedFiles) {
  data_.set_on_bad_row(Data::BAD_ROW_SKIP);
  const std::string content = Rows(0, 400);
  for (const char* name : {"a.gz", "a.xz", "a.zst"}) {
    const std::string packed = testing::PackFor(name, content);
    const std::string file = testing::WriteFile(name, packed.substr(0, packed.size() / 2));
    std::vector<int> numbers;
    const absl::Status status = ReadAll(file, content, 400, &numbers);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file + ", line "));
  }
}

TEST_F(CriteoReaderTest, FileThatBecameShorterIsAnError) {
  const std::string content = Rows(0, 5);
  const std::string file = WriteDataFile("a", content);
  std::vector<int> numbers;
  const absl::Status status = ReadAll(file, content, 8, &numbers);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(file + ", line 6: the file ends here, but had 3 rows more"));
}

TEST_F(CriteoReaderTest, RowCutOffAtTheEndOfAPlainFile) {
  const std::string content = Rows(0, 3) + Row(3).substr(0, 50);
  const std::string file = WriteDataFile("a", content);
  std::vector<int> numbers;
  const absl::Status status = ReadAll(file, content, 4, &numbers);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(file + ", line 4, column "));
}

TEST_F(CriteoReaderTest, MissingFileIsNamed) {
  std::vector<int> numbers;
  const absl::Status status = ReadAll("/no/such/day_0.gz", "", 1, &numbers);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/day_0.gz"));
}

}  // namespace
}  // namespace weir::worker
