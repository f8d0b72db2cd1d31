#include "server/coordinator/range_planner.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "server/coordinator/row_scanner.h"
#include "server/coordinator/row_survey.h"

namespace weir::server {
namespace {

constexpr uint64_t kBatchesPerRange = 16;

// What a worker was answered last in one set.
struct Cursor {
  uint64_t answered = 0;  // requests
  NextRangeReply last;
};

// Ranges of one worker that were cut but not asked for yet.
struct Pending {
  std::deque<NextRangeReply> ranges;
};

class FileRangePlanner final : public RangePlanner {
 public:
  explicit FileRangePlanner(const Job& job)
      : train_files_(job.data().train().begin(), job.data().train().end()),
        test_files_(job.data().test().begin(), job.data().test().end()),
        test_last_rows_(job.data().test_last_rows()),
        train_rows_max_(job.data().train_rows_max() == 0 ? std::numeric_limits<uint64_t>::max() : job.data().train_rows_max()),
        workers_(std::max(1u, job.cluster().workers())),
        batch_rows_(std::max<uint64_t>(1, job.training().batch_size() / workers_)),
        epochs_(job.training().epochs()),
        deterministic_(job.training().deterministic()),
        survey_(job.data()),
        train_cursors_(workers_),
        test_cursors_(workers_),
        train_(std::make_unique<RowScanner>(train_files_)),
        pending_(workers_),
        slice_rows_left_(batch_rows_) {}

  absl::StatusOr<NextRangeReply> Next(const NextRangeRequest& request) override {
    const bool train = request.set() == NextRangeRequest::SET_TRAIN;
    if (!train && request.set() != NextRangeRequest::SET_TEST) return absl::InvalidArgumentError("NextRange names no set");
    if (request.worker_rank() >= workers_) {
      return absl::InvalidArgumentError(absl::StrCat("NextRange from worker ", request.worker_rank(), ", but the job has ", workers_));
    }
    MutexLock lock(&mu_);
    Cursor& cursor = (train ? train_cursors_ : test_cursors_)[request.worker_rank()];
    if (request.request() + 1 == cursor.answered) return cursor.last;
    if (request.request() != cursor.answered) {
      return absl::InvalidArgumentError(absl::StrCat("NextRange of worker ", request.worker_rank(), ": request ", request.request(),
                                                     " of the ", train ? "training" : "test", " set, but ", cursor.answered, " is next"));
    }
    WEIR_RETURN_IF_ERROR(error_);
    absl::StatusOr<NextRangeReply> reply = !train           ? TakeTest()
                                           : deterministic_ ? TakeSlice(request.worker_rank())
                                                            : TakeTrain(RangeRows(TrainRowsLeft()));
    if (!reply.ok()) {
      if (!absl::IsResourceExhausted(reply.status())) error_ = reply.status();
      return reply.status();
    }
    reply->set_total_rows(total_rows(request.set()));
    ++cursor.answered;
    cursor.last = *reply;
    return reply;
  }

  absl::StatusOr<bool> CountMore() override { return survey_.CountMore(); }

  uint64_t total_rows(NextRangeRequest::Set set) const override {
    return set == NextRangeRequest::SET_TRAIN ? survey_.train_rows().value_or(0) * epochs_ : survey_.test_rows().value_or(0);
  }

 private:
  // Up to rows_max of the next training rows, for whomever; `done` at the end of the last epoch.
  absl::StatusOr<NextRangeReply> TakeTrain(uint64_t rows_max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (epoch_ < epochs_) {
      uint64_t rows = std::min(rows_max, train_rows_max_ - epoch_row_);
      if (test_last_rows_ > 0) {
        WEIR_ASSIGN_OR_RETURN(const uint64_t end, survey_.TrainingRowsWithin(epoch_row_ + rows));
        rows = end - epoch_row_;
      }
      WEIR_ASSIGN_OR_RETURN(const RowRun run, train_->Take(rows));
      if (run.rows > 0) {
        epoch_row_ += run.rows;
        return ReplyOf(run, train_files_, epoch_);
      }
      // No epoch after an empty one has rows.
      epoch_ = epoch_row_ == 0 ? epochs_ : epoch_ + 1;
      epoch_row_ = 0;
      train_ = std::make_unique<RowScanner>(train_files_);
    }
    return Done();
  }

  // Deterministic: cuts slices of batch_rows_ for the workers in turn until there is one for this worker.
  absl::StatusOr<NextRangeReply> TakeSlice(uint32_t rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (pending_[rank].ranges.empty()) {
      std::deque<NextRangeReply>& owner = pending_[slice_owner_].ranges;
      if (owner.size() >= kRangesAheadMax) {
        return absl::ResourceExhaustedError(
            absl::StrCat("worker ", rank, " is ", kRangesAheadMax, " ranges ahead of worker ", slice_owner_));
      }
      WEIR_ASSIGN_OR_RETURN(NextRangeReply range, TakeTrain(slice_rows_left_));
      if (range.done()) return range;
      slice_rows_left_ -= range.rows();
      owner.push_back(std::move(range));
      if (slice_rows_left_ > 0) continue;
      slice_owner_ = (slice_owner_ + 1) % workers_;
      slice_rows_left_ = batch_rows_;
    }
    NextRangeReply reply = std::move(pending_[rank].ranges.front());
    pending_[rank].ranges.pop_front();
    return reply;
  }

  absl::StatusOr<NextRangeReply> TakeTest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (test_ == nullptr) {
      WEIR_ASSIGN_OR_RETURN(test_, survey_.ScanTest());
    }
    const std::optional<uint64_t> total = survey_.test_rows();
    std::optional<uint64_t> left;
    if (total.has_value()) left = *total - std::min(*total, test_row_);
    WEIR_ASSIGN_OR_RETURN(const RowRun run, test_->Take(RangeRows(left)));
    if (run.rows == 0) return Done();
    test_row_ += run.rows;
    return ReplyOf(run, test_files_.empty() ? train_files_ : test_files_, 0);
  }

  // Rows of a range for whoever asks, given how many are left.
  uint64_t RangeRows(std::optional<uint64_t> left) const {
    if (!left.has_value()) return kBatchesPerRange * batch_rows_;
    const uint64_t batches = *left / (2 * workers_ * batch_rows_);
    return std::clamp<uint64_t>(batches, 1, kBatchesPerRange) * batch_rows_;
  }

  std::optional<uint64_t> TrainRowsLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const std::optional<uint64_t> rows = survey_.train_rows();
    if (!rows.has_value()) return std::nullopt;
    const uint64_t given = epoch_ * *rows + epoch_row_;
    return epochs_ * *rows - std::min(given, epochs_ * *rows);
  }

  static NextRangeReply ReplyOf(const RowRun& run, const std::vector<std::string>& files, uint64_t epoch) {
    NextRangeReply reply;
    reply.set_file(files[run.start.file]);
    reply.set_byte_offset(run.start.byte_offset);
    reply.set_first_line(run.start.line);
    reply.set_rows(run.rows);
    reply.set_epoch(static_cast<uint32_t>(epoch));
    return reply;
  }

  static NextRangeReply Done() {
    NextRangeReply reply;
    reply.set_done(true);
    return reply;
  }

  const std::vector<std::string> train_files_;
  const std::vector<std::string> test_files_;
  const uint64_t test_last_rows_;
  const uint64_t train_rows_max_;
  const uint32_t workers_;
  const uint64_t batch_rows_;  // of one worker in one step
  const uint64_t epochs_;
  const bool deterministic_;

  RowSurvey survey_;  // its own synchronisation

  Mutex mu_;
  std::vector<Cursor> train_cursors_ ABSL_GUARDED_BY(mu_);
  std::vector<Cursor> test_cursors_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<RowScanner> train_ ABSL_GUARDED_BY(mu_);  // of the current epoch
  uint64_t epoch_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t epoch_row_ ABSL_GUARDED_BY(mu_) = 0;        // rows of the epoch that are cut
  std::vector<Pending> pending_ ABSL_GUARDED_BY(mu_);  // deterministic
  uint32_t slice_owner_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t slice_rows_left_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<RowScanner> test_ ABSL_GUARDED_BY(mu_);  // null: not asked for yet
  uint64_t test_row_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<RangePlanner>> RangePlanner::Open(const Job& job) {
  for (const auto* files : {&job.data().train(), &job.data().test()}) {
    for (const std::string& file : *files) WEIR_RETURN_IF_ERROR(LineReader::Open(file).status());
  }
  return std::make_unique<FileRangePlanner>(job);
}

}  // namespace weir::server
