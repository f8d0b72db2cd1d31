#include "server/coordinator/row_survey.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

using testing::WriteDataFile;

// Rows "0", "1", ... so that a row's number can be read where it starts; `files` of them.
Data Numbered(int rows, int files) {
  Data data;
  for (int file = 0, row = 0; file < files; ++file) {
    std::string content;
    for (; row < rows * (file + 1) / files; ++row) absl::StrAppend(&content, row, "\n");
    data.add_train(WriteDataFile(absl::StrCat("train", rows, ".", file), content));
  }
  return data;
}

std::string LineAt(const Data& data, const RowPosition& position) {
  auto reader = LineReader::Open(data.train(static_cast<int>(position.file))).value();
  EXPECT_EQ(reader->Seek(position.byte_offset, position.line), absl::OkStatus());
  absl::string_view line;
  EXPECT_TRUE(reader->Next(&line).value());
  return std::string(line);
}

TEST(RowSurveyTest, FindsWhereHeldOutRowsBegin) {
  for (const int held_out : {1, 2, 1023, 1024, 1025, 5000, 9999}) {
    Data data = Numbered(10000, 3);
    data.set_test_last_rows(held_out);
    RowSurvey survey(data);
    const auto scanner = survey.ScanTest().value();
    uint64_t rows = 0;
    for (RowRun run = scanner->Take(100000).value(); run.rows > 0; run = scanner->Take(100000).value()) {
      if (rows == 0) {
        EXPECT_EQ(LineAt(data, run.start), absl::StrCat(10000 - held_out));
      }
      rows += run.rows;
    }
    EXPECT_EQ(rows, held_out);
    EXPECT_EQ(survey.train_rows(), 10000 - held_out);
    EXPECT_EQ(survey.test_rows(), held_out);
  }
}

TEST(RowSurveyTest, ClearsTrainingRowsAsFarAsAsked) {
  Data data = Numbered(50000, 1);
  data.set_test_last_rows(10);
  RowSurvey survey(data);
  EXPECT_EQ(survey.TrainingRowsWithin(100).value(), 100);
  EXPECT_FALSE(survey.train_rows().has_value()) << "not read to the end for that";
  EXPECT_EQ(survey.TrainingRowsWithin(49990).value(), 49990);
  EXPECT_EQ(survey.TrainingRowsWithin(49991).value(), 49990);
  EXPECT_EQ(survey.train_rows(), 49990);
}

TEST(RowSurveyTest, CountsTrainingAndTestFilesPieceByPiece) {
  Data data = Numbered(50000, 2);
  data.add_test(WriteDataFile("test.xz", "a\nb\nc\n"));
  RowSurvey survey(data);
  int calls = 1;
  while (!survey.CountMore().value()) ++calls;
  EXPECT_GT(calls, 2);
  EXPECT_EQ(survey.train_rows(), 50000);
  EXPECT_EQ(survey.test_rows(), 3);
}

TEST(RowSurveyTest, StopsAtTheRowLimit) {
  Data data = Numbered(100, 1);
  data.set_train_rows_max(30);
  RowSurvey survey(data);
  while (!survey.CountMore().value()) {
  }
  EXPECT_EQ(survey.train_rows(), 30);
  EXPECT_EQ(survey.test_rows(), 0);
  data.set_test_last_rows(80);
  RowSurvey shorter(data);
  EXPECT_EQ(shorter.TrainingRowsWithin(1000).value(), 20);
}

TEST(RowSurveyTest, HoldingOutEverythingIsAnErrorForGood) {
  Data data = Numbered(100, 2);
  data.set_test_last_rows(100);
  RowSurvey survey(data);
  const absl::Status status = survey.TrainingRowsWithin(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("100 rows"), std::string::npos) << status;
  EXPECT_EQ(survey.ScanTest().status(), status);
  EXPECT_EQ(survey.CountMore().status(), status);
}

}  // namespace
}  // namespace weir::server
