// Counts the rows of a job's data files ahead of their use, and finds where held-out rows begin.
#ifndef WEIR_SERVER_COORDINATOR_ROW_SURVEY_H_
#define WEIR_SERVER_COORDINATOR_ROW_SURVEY_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "proto/job.pb.h"
#include "server/coordinator/row_scanner.h"

namespace weir::server {

// Reads the training files once, then the test files. Keeps about kMarks places of the training files, evenly spread over the last
// test_last_rows rows. Thread-safe; after an error every call answers it again.
class RowSurvey {
 public:
  explicit RowSurvey(const Data& data);

  // Counts about kRowsAtOnce rows more; true when all are counted.
  absl::StatusOr<bool> CountMore();

  // How many of an epoch's first `rows` rows exist and are for training; reads as far as that takes. Only for jobs with test_last_rows.
  absl::StatusOr<uint64_t> TrainingRowsWithin(uint64_t rows);

  // A scanner that stands at the first row of the test set; it goes to the last. With test_last_rows this counts all training rows first.
  absl::StatusOr<std::unique_ptr<RowScanner>> ScanTest();

  // Of one epoch, and of the test set; empty: not known yet. Never wait.
  std::optional<uint64_t> train_rows() const { return Known(train_rows_); }
  std::optional<uint64_t> test_rows() const { return Known(test_rows_); }

 private:
  static constexpr uint64_t kRowsAtOnce = 16384;
  static constexpr uint64_t kMarks = 1024;

  struct Mark {
    uint64_t row;
    RowPosition position;
  };

  static constexpr uint64_t kUnknown = ~uint64_t{0};
  static std::optional<uint64_t> Known(const std::atomic<uint64_t>& rows) {
    const uint64_t value = rows.load();
    return value == kUnknown ? std::nullopt : std::optional<uint64_t>(value);
  }

  // Takes one run from the training files, or finds that they have ended.
  absl::Status CountTraining() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CountTest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status EndTraining() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::vector<std::string> train_files_;
  const std::vector<std::string> test_files_;
  const uint64_t test_last_rows_;
  const uint64_t train_rows_max_;
  const uint64_t run_rows_max_;  // of one Take: the spacing of the marks

  // Grow, or change from kUnknown, under mu_; read without it. Each says all that a reader needs.
  std::atomic<uint64_t> counted_{0};  // rows of the training files
  std::atomic<uint64_t> train_rows_{kUnknown};
  std::atomic<uint64_t> test_rows_{kUnknown};

  Mutex mu_;
  RowScanner train_scanner_ ABSL_GUARDED_BY(mu_);
  RowScanner test_scanner_ ABSL_GUARDED_BY(mu_);
  uint64_t test_counted_ ABSL_GUARDED_BY(mu_) = 0;  // rows of the test files
  std::deque<Mark> marks_ ABSL_GUARDED_BY(mu_);     // the first is at or before row counted_ - test_last_rows_
  absl::Status error_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_ROW_SURVEY_H_
