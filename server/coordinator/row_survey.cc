#include "server/coordinator/row_survey.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weir::server {
namespace {

uint64_t OrUnbounded(uint64_t rows) { return rows == 0 ? std::numeric_limits<uint64_t>::max() : rows; }

}  // namespace

RowSurvey::RowSurvey(const Data& data)
    : train_files_(data.train().begin(), data.train().end()),
      test_files_(data.test().begin(), data.test().end()),
      test_last_rows_(data.test_last_rows()),
      train_rows_max_(OrUnbounded(data.train_rows_max())),
      run_rows_max_(test_last_rows_ == 0 ? kRowsAtOnce : std::min(kRowsAtOnce, test_last_rows_ / kMarks + 1)),
      train_scanner_(train_files_),
      test_scanner_(test_files_) {}

absl::StatusOr<bool> RowSurvey::CountMore() {
  MutexLock lock(&mu_);
  for (uint64_t start = counted_ + test_counted_; counted_ + test_counted_ < start + kRowsAtOnce;) {
    if (train_rows_ != kUnknown && test_rows_ != kUnknown) return true;
    WEIR_RETURN_IF_ERROR(train_rows_ != kUnknown ? CountTest() : CountTraining());
  }
  return false;
}

absl::StatusOr<uint64_t> RowSurvey::TrainingRowsWithin(uint64_t rows) {
  if (train_rows_ == kUnknown && counted_ < rows + test_last_rows_) {
    MutexLock lock(&mu_);
    while (train_rows_ == kUnknown && counted_ < rows + test_last_rows_) WEIR_RETURN_IF_ERROR(CountTraining());
  }
  const uint64_t counted = counted_;
  return std::min({rows, train_rows_max_, counted - std::min(counted, test_last_rows_)});
}

absl::StatusOr<std::unique_ptr<RowScanner>> RowSurvey::ScanTest() {
  if (test_last_rows_ == 0) return std::make_unique<RowScanner>(test_files_);
  MutexLock lock(&mu_);
  while (train_rows_ == kUnknown) WEIR_RETURN_IF_ERROR(CountTraining());
  const uint64_t counted = counted_;
  const Mark& mark = marks_.front();
  auto scanner = std::make_unique<RowScanner>(train_files_, mark.position);
  for (uint64_t row = mark.row; row < counted - test_last_rows_;) {
    WEIR_ASSIGN_OR_RETURN(const RowRun run, scanner->Take(counted - test_last_rows_ - row));
    if (run.rows == 0) return absl::DataLossError(absl::StrCat("the training files had ", counted, " rows and became shorter"));
    row += run.rows;
  }
  return scanner;
}

absl::Status RowSurvey::CountTraining() {
  WEIR_RETURN_IF_ERROR(error_);
  // Without held-out rows nobody needs what comes after the limit.
  const uint64_t rows_max = test_last_rows_ > 0 ? run_rows_max_ : std::min(run_rows_max_, train_rows_max_ - counted_);
  const absl::StatusOr<RowRun> run = train_scanner_.Take(rows_max);
  if (!run.ok()) return error_ = run.status();
  if (run->rows == 0) return EndTraining();
  if (test_last_rows_ > 0) marks_.push_back({counted_, run->start});
  counted_ += run->rows;
  while (marks_.size() > 1 && marks_[1].row + test_last_rows_ <= counted_) marks_.pop_front();
  return absl::OkStatus();
}

absl::Status RowSurvey::EndTraining() {
  if (test_last_rows_ > 0 && counted_ <= test_last_rows_) {
    error_ = absl::FailedPreconditionError(absl::StrCat("data.test_last_rows is ", test_last_rows_, ", but the training files have only ",
                                                        counted_.load(), " rows in all; hold out fewer"));
    return error_;
  }
  train_rows_ = std::min(counted_ - test_last_rows_, train_rows_max_);
  if (test_files_.empty()) test_rows_ = test_last_rows_;
  return absl::OkStatus();
}

absl::Status RowSurvey::CountTest() {
  WEIR_RETURN_IF_ERROR(error_);
  const absl::StatusOr<RowRun> run = test_scanner_.Take(kRowsAtOnce);
  if (!run.ok()) return error_ = run.status();
  test_counted_ += run->rows;
  if (run->rows == 0) test_rows_ = test_counted_;
  return absl::OkStatus();
}

}  // namespace weir::server
