#include "server/coordinator/range_planner.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
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

// Training ranges of one worker.
struct WorkerRanges {
  std::deque<DataRange> pending;  // cut, or left from an earlier life of the job, but not asked for yet
  std::deque<DataRange> given;    // asked for, from number given_first on; kept for checkpoints
  uint64_t given_first = 0;
};

RowPosition StartOf(const DataRange& range) { return {range.file(), range.byte_offset(), range.line()}; }

void SetStart(const RowPosition& start, DataRange* range) {
  range->set_file(start.file);
  range->set_byte_offset(start.byte_offset);
  range->set_line(start.line);
}

bool StandsBefore(const DataRange& a, const DataRange& b) {
  return std::make_tuple(a.epoch(), a.file(), a.byte_offset()) < std::make_tuple(b.epoch(), b.file(), b.byte_offset());
}

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
        keeps_given_(job.checkpoint().has_every()),
        ranges_(workers_),
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
    absl::StatusOr<NextRangeReply> reply = train ? NextTrain(request.worker_rank()) : TakeTest();
    if (!reply.ok()) {
      if (!absl::IsResourceExhausted(reply.status())) error_ = reply.status();
      return reply.status();
    }
    reply->set_total_rows(total_rows(request.set()));
    ++cursor.answered;
    cursor.last = *reply;
    return reply;
  }

  absl::Status Restore(const DataPosition& from) {
    MutexLock lock(&mu_);
    if (from.rest().file() > train_files_.size()) {
      return absl::DataLossError(absl::StrCat("the checkpoint's data goes on in file ", from.rest().file(), " of ", train_files_.size()));
    }
    epoch_ = from.rest().epoch();
    epoch_row_ = from.epoch_rows();
    train_ = std::make_unique<RowScanner>(train_files_, StartOf(from.rest()));
    const bool same = from.workers_size() == static_cast<int>(workers_);
    if (same && from.slice_rows() > 0) {
      slice_owner_ = from.slice_owner() % workers_;
      slice_rows_left_ = std::min<uint64_t>(from.slice_rows(), batch_rows_);
    }
    for (int i = 0; i < from.workers_size(); ++i) {
      for (const DataRange& range : from.workers(i).ranges()) {
        WEIR_ASSIGN_OR_RETURN(DataRange rest, Untrained(range));
        if (rest.rows() > 0) (same ? ranges_[i].pending : left_).push_back(std::move(rest));
      }
    }
    std::sort(left_.begin(), left_.end(), StandsBefore);
    return absl::OkStatus();
  }

  absl::StatusOr<DataPosition> Position(absl::Span<const WorkerPosition> workers) override {
    MutexLock lock(&mu_);
    if (!keeps_given_ || workers.size() != ranges_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("positions of ", workers.size(), " workers of ", ranges_.size()));
    }
    for (uint32_t rank = 0; rank < workers_; ++rank) WEIR_RETURN_IF_ERROR(ForgetTrained(rank, workers[rank]));
    DataPosition position;
    for (uint32_t rank = 0; rank < workers_; ++rank) {
      DataPosition::Worker* const worker = position.add_workers();
      for (const DataRange& range : ranges_[rank].given) *worker->add_ranges() = range;
      if (worker->ranges_size() > 0) worker->mutable_ranges(0)->set_trained(workers[rank].rows());
      for (const DataRange& range : ranges_[rank].pending) *worker->add_ranges() = range;
    }
    // What an earlier life with other workers has left, in turns.
    for (size_t i = 0; i < left_.size(); ++i) *position.mutable_workers(static_cast<int>(i % workers_))->add_ranges() = left_[i];
    SetStart(train_->position(), position.mutable_rest());
    position.mutable_rest()->set_epoch(static_cast<uint32_t>(epoch_));
    position.set_epoch_rows(epoch_row_);
    position.set_slice_owner(slice_owner_);
    position.set_slice_rows(slice_rows_left_);
    return position;
  }

  absl::StatusOr<bool> CountMore() override { return survey_.CountMore(); }

  uint64_t total_rows(NextRangeRequest::Set set) const override {
    return set == NextRangeRequest::SET_TRAIN ? survey_.train_rows().value_or(0) * epochs_ : survey_.test_rows().value_or(0);
  }

 private:
  // Drops what the worker has trained from what it was given.
  absl::Status ForgetTrained(uint32_t rank, const WorkerPosition& trained) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    WorkerRanges& ranges = ranges_[rank];
    const uint64_t given_end = ranges.given_first + ranges.given.size();
    const bool inside = trained.ranges() >= ranges.given_first && trained.ranges() <= given_end &&
                        (trained.rows() == 0 ||
                         (trained.ranges() < given_end && trained.rows() <= ranges.given[trained.ranges() - ranges.given_first].rows()));
    if (!inside) {
      return absl::InvalidArgumentError(absl::StrCat("worker ", rank, " has trained ", trained.ranges(), " ranges and ", trained.rows(),
                                                     " rows, but was given ranges ", ranges.given_first, " to ", given_end));
    }
    for (; ranges.given_first < trained.ranges(); ++ranges.given_first) ranges.given.pop_front();
    return absl::OkStatus();
  }

  // The rows of a range behind those that were trained.
  absl::StatusOr<DataRange> Untrained(const DataRange& range) const {
    if (range.file() >= train_files_.size() || range.trained() > range.rows()) {
      return absl::DataLossError("the checkpoint's data names rows that do not exist");
    }
    DataRange rest = range;
    rest.set_trained(0);
    RowScanner scanner(train_files_, StartOf(range));
    if (range.trained() > 0) {
      WEIR_ASSIGN_OR_RETURN(const RowRun passed, scanner.Take(range.trained()));
      if (passed.rows < range.trained()) return FileIsShorter(range);
      SetStart(scanner.position(), &rest);
    }
    rest.set_rows(range.rows() - range.trained());
    return rest;
  }

  absl::Status FileIsShorter(const DataRange& range) const {
    return absl::DataLossError(absl::StrCat(train_files_[range.file()], ", line ", range.line(), ": the file had ", range.rows(),
                                            " rows from here when the checkpoint was saved, and has fewer now"));
  }

  absl::StatusOr<NextRangeReply> NextTrain(uint32_t rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    WorkerRanges& ranges = ranges_[rank];
    if (deterministic_) WEIR_RETURN_IF_ERROR(CutSlicesFor(rank));
    std::optional<DataRange> range;
    if (!ranges.pending.empty()) {
      range = std::move(ranges.pending.front());
      ranges.pending.pop_front();
    } else if (!deterministic_) {
      WEIR_ASSIGN_OR_RETURN(range, TakeTrain(RangeRows(TrainRowsLeft())));
    }
    if (!range.has_value()) return Done();
    if (keeps_given_) ranges.given.push_back(*range);
    return ReplyOf(*range, train_files_);
  }

  // Up to rows_max of what is left from an earlier life of the job.
  absl::StatusOr<DataRange> TakeLeft(uint64_t rows_max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    DataRange taken = left_.front();
    if (taken.rows() <= rows_max) {
      left_.pop_front();
      return taken;
    }
    left_.front().set_trained(rows_max);
    WEIR_ASSIGN_OR_RETURN(left_.front(), Untrained(left_.front()));
    taken.set_rows(rows_max);
    return taken;
  }

  // Up to rows_max of the next training rows, for whomever; none at the end of the last epoch.
  absl::StatusOr<std::optional<DataRange>> TakeTrain(uint64_t rows_max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!left_.empty()) return TakeLeft(rows_max);
    while (epoch_ < epochs_) {
      uint64_t rows = std::min(rows_max, train_rows_max_ - epoch_row_);
      if (test_last_rows_ > 0) {
        WEIR_ASSIGN_OR_RETURN(const uint64_t end, survey_.TrainingRowsWithin(epoch_row_ + rows));
        rows = end - epoch_row_;
      }
      WEIR_ASSIGN_OR_RETURN(const RowRun run, train_->Take(rows));
      if (run.rows > 0) {
        epoch_row_ += run.rows;
        DataRange range;
        SetStart(run.start, &range);
        range.set_epoch(static_cast<uint32_t>(epoch_));
        range.set_rows(run.rows);
        return range;
      }
      // No epoch after an empty one has rows.
      epoch_ = epoch_row_ == 0 ? epochs_ : epoch_ + 1;
      epoch_row_ = 0;
      train_ = std::make_unique<RowScanner>(train_files_);
    }
    return std::nullopt;
  }

  // Deterministic: cuts slices of batch_rows_ for the workers in turn until there is one for this worker, or no rows are left.
  absl::Status CutSlicesFor(uint32_t rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (ranges_[rank].pending.empty()) {
      std::deque<DataRange>& owner = ranges_[slice_owner_].pending;
      if (owner.size() >= kRangesAheadMax) {
        return absl::ResourceExhaustedError(
            absl::StrCat("worker ", rank, " is ", kRangesAheadMax, " ranges ahead of worker ", slice_owner_));
      }
      WEIR_ASSIGN_OR_RETURN(std::optional<DataRange> range, TakeTrain(slice_rows_left_));
      if (!range.has_value()) return absl::OkStatus();
      slice_rows_left_ -= range->rows();
      owner.push_back(*std::move(range));
      if (slice_rows_left_ > 0) continue;
      slice_owner_ = (slice_owner_ + 1) % workers_;
      slice_rows_left_ = batch_rows_;
    }
    return absl::OkStatus();
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
    DataRange range;
    SetStart(run.start, &range);
    range.set_rows(run.rows);
    return ReplyOf(range, test_files_.empty() ? train_files_ : test_files_);
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

  static NextRangeReply ReplyOf(const DataRange& range, const std::vector<std::string>& files) {
    NextRangeReply reply;
    reply.set_file(files[range.file()]);
    reply.set_byte_offset(range.byte_offset());
    reply.set_first_line(range.line());
    reply.set_rows(range.rows());
    reply.set_epoch(range.epoch());
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
  uint64_t epoch_row_ ABSL_GUARDED_BY(mu_) = 0;  // rows of the epoch that are cut
  const bool keeps_given_;
  std::vector<WorkerRanges> ranges_ ABSL_GUARDED_BY(mu_);  // by rank
  std::deque<DataRange> left_ ABSL_GUARDED_BY(mu_);        // by an earlier life with other workers; in the order of the stream
  uint32_t slice_owner_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t slice_rows_left_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<RowScanner> test_ ABSL_GUARDED_BY(mu_);  // null: not asked for yet
  uint64_t test_row_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<RangePlanner>> RangePlanner::Open(const Job& job, const DataPosition* from) {
  for (const auto* files : {&job.data().train(), &job.data().test()}) {
    for (const std::string& file : *files) WEIR_RETURN_IF_ERROR(LineReader::Open(file).status());
  }
  auto planner = std::make_unique<FileRangePlanner>(job);
  if (from != nullptr) WEIR_RETURN_IF_ERROR(planner->Restore(*from));
  return planner;
}

}  // namespace weir::server
