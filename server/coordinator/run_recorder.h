// Writes the run folder while a job runs: metrics.jsonl and tensorboard/ as it goes, result.json at its end.
#ifndef WEIR_SERVER_COORDINATOR_RUN_RECORDER_H_
#define WEIR_SERVER_COORDINATOR_RUN_RECORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/binary_metrics.h"
#include "base/output_file.h"
#include "proto/control_service.pb.h"
#include "server/coordinator/run_totals.h"
#include "server/coordinator/tensorboard_writer.h"

namespace weir::server {

// A line of metrics.jsonl.
struct MetricsLine {
  double seconds = 0;    // since training began
  uint64_t samples = 0;  // trained in all
  int64_t steps = 0;     // completed
  double logloss = 0;    // of the samples since the previous line, before the update of their step; NaN is written as null
  double auc = 0;
  double samples_per_second = 0;         // since the previous line
  WireBytes wire_bytes;                  // in all
  std::vector<CodecLine> codecs;         // since the previous line, of worker 0
  std::vector<GuardDecision> decisions;  // since the previous line, of all workers; left out when there is none
  double wait_seconds = 0;               // in all, of all workers together
};

// result.json. A field without a comment is what MetricsLine says, at the end.
struct JobResult {
  std::string job;
  uint64_t job_hash = 0;                 // written in hex
  std::optional<BinaryQuality> quality;  // of the held-out rows, exact; none: written as null
  double mean_label = 0;                 // of the held-out rows; "ctr"
  uint64_t samples = 0;
  int64_t steps = 0;
  double seconds = 0;  // first batch to end of training, of the slowest worker
  WireBytes wire_bytes;
  WireBytes wire_bytes_evaluation;  // of it, after training
  uint64_t rows_fingerprint = 0;    // sum over servers, mod 2^64; written in hex
  uint64_t dense_fingerprint = 0;   // written in hex
  uint64_t rows_held = 0;
  uint64_t bad_rows = 0;
  double wait_seconds = 0;
  std::vector<CodecReport> codecs;  // of all workers: what each table and layer took, on each edge
  StepSeconds step_seconds;         // of all workers together
  StepWaits step_waits;             // likewise
  uint32_t workers = 0;
  uint32_t servers = 0;
};

// Single-threaded.
class RunRecorder {
 public:
  // Starts the files in `dir`, made where it is missing; what an earlier run left under the same names is removed. With steps_before the
  // run goes on: what was written about its first steps_before steps stays, later lines go. Errors name the path.
  static absl::StatusOr<std::unique_ptr<RunRecorder>> Create(const std::string& dir, absl::Time now,
                                                             std::optional<int64_t> steps_before = std::nullopt);

  absl::Status Append(const MetricsLine& line, absl::Time now);
  // result.json appears whole or not at all.
  absl::Status Finish(const JobResult& result, absl::Time now);

 private:
  RunRecorder(std::string dir, std::unique_ptr<OutputFile> metrics, std::unique_ptr<TensorBoardWriter> tensorboard)
      : dir_(std::move(dir)), metrics_(std::move(metrics)), tensorboard_(std::move(tensorboard)) {}

  const std::string dir_;
  const std::unique_ptr<OutputFile> metrics_;
  const std::unique_ptr<TensorBoardWriter> tensorboard_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_RUN_RECORDER_H_
