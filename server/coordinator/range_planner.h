// Hands out the rows of a job's data files, range by range, without keeping them.
//
// The rows of a set are the lines of its files in order; the training set repeats them for each epoch, as one stream. An empty last line of
// a file is no row; any other line is one, good or bad (the worker judges). A range lies in one file; where the rows of a request cross a
// file's end or an epoch's, they come as several consecutive replies.
//
// Training rows, with b = batch_size / workers:
//   deterministic  worker r gets the rows [(k * workers + r) * b, +b) of the stream for k = 0, 1, 2...: the workers together read in step k
//   what one
//                  worker would read in its step k, the short last step included.
//   otherwise      the next 16 * b rows go to whoever asks; near the end, once it is known, smaller ranges, so that the workers end
//   together.
// Test rows always go to whoever asks.
//
// After a restart with as many workers each goes on with what it was given and has not trained; with another number of workers these rows
// are handed out first, in the order of the stream. So no row is trained twice, and none is left out.
//
// Memory is constant: files are read ahead (decompressed where they are compressed) only as far as ranges are asked for.
#ifndef WEIR_SERVER_COORDINATOR_RANGE_PLANNER_H_
#define WEIR_SERVER_COORDINATOR_RANGE_PLANNER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/checkpoint.pb.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"

namespace weir::server {

// Thread-safe.
class RangePlanner {
 public:
  // REQUIRES: a validated job with its defaults set. NOT_FOUND: names the data file that is missing; nothing but the start of each file is
  // read here.
  // `from`: where a checkpoint of the job, with perhaps another number of workers, has left off; null: the beginning.
  static absl::StatusOr<std::unique_ptr<RangePlanner>> Open(const Job& job, const DataPosition* from = nullptr);
  virtual ~RangePlanner() = default;

  // Answers ControlService.NextRange. A worker numbers its requests for each set from 0; the same number as before gives the same reply,
  // the next number the next range (`done` from the end on). May read files: as far as the range, and, with test_last_rows, that many rows
  // further. Errors: INVALID_ARGUMENT      unknown rank or set, or a request number out of order; nothing changed. DATA_LOSS             a
  // file is damaged, or ends while it is read; names file and line. Every later call answers the same: the job cannot go on.
  // FAILED_PRECONDITION   the training files have no more rows than test_last_rows.
  // RESOURCE_EXHAUSTED    deterministic: this worker is kRangesAheadMax ranges ahead of another.
  virtual absl::StatusOr<NextRangeReply> Next(const NextRangeRequest& request) = 0;

  // What of the training data is left when worker i has trained up to workers[i]. Only for jobs with checkpoint.every, and not before a
  // position that was asked for earlier. INVALID_ARGUMENT: a worker has trained more than it was given.
  virtual absl::StatusOr<DataPosition> Position(absl::Span<const WorkerPosition> workers) = 0;

  // Counts some more rows (about 0.1 s of work at most), so that total_rows is known early; true when all are counted. Optional: call it in
  // a loop on a thread of its own; Next is not held up. Errors as of Next.
  virtual absl::StatusOr<bool> CountMore() = 0;

  // Rows of the set, all epochs together; 0: not known yet. Knows nothing of training.steps_max.
  virtual uint64_t total_rows(NextRangeRequest::Set set) const = 0;

  static constexpr uint32_t kRangesAheadMax = 65536;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_RANGE_PLANNER_H_
