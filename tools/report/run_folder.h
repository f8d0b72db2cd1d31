// A run folder in memory. Reading trusts nothing: every field is checked for presence and type, memory stays bounded however long the
// run was.
#ifndef WEIR_TOOLS_REPORT_RUN_FOLDER_H_
#define WEIR_TOOLS_REPORT_RUN_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/report/metrics_series.h"

namespace weir::tools {

// What one table or layer took on one edge, in all of training, all workers together. Bytes.
struct AccountLine {
  std::string edge;  // "lookup" (requests and replies), "push", "dense"
  std::string name;
  uint64_t keys = 0;
  uint64_t masks = 0;
  uint64_t values = 0;
  uint64_t headers = 0;
  uint64_t entries = 0;  // looked at by a codec that selects
  uint64_t kept = 0;
  double density_asked = 0;  // 0: nothing is selected
  double codec_seconds = 0;

  uint64_t bytes() const { return keys + masks + values + headers; }
  // Densities are the larger one's; names are left.
  void Add(const AccountLine& other);
};

// result.json. Quality is of held-out rows, and absent where there were none.
struct RunResult {
  std::string job;
  std::string job_hash;
  std::optional<double> logloss;
  std::optional<double> auc;
  std::optional<double> ne;
  std::optional<double> calibration;
  std::optional<double> ctr;        // share of clicks in the held-out rows
  uint64_t evaluation_samples = 0;  // held-out rows
  uint64_t samples = 0;             // trained
  uint64_t steps = 0;
  double seconds = 0;  // of training
  double samples_per_second = 0;
  BytesByEdge training_bytes = {};    // of all processes, counted at the socket
  BytesByEdge evaluation_bytes = {};  // after training ended
  std::string fingerprint;            // JSON
  uint64_t rows_held = 0;
  uint64_t bad_rows = 0;
  double wait_seconds = 0;  // of all workers
  uint64_t workers = 0;
  uint64_t servers = 0;
  std::vector<AccountLine> account;                          // empty: the run was made by a version without
  std::vector<std::pair<std::string, double>> step_seconds;  // by phase, of all workers together; empty likewise
  std::vector<std::pair<std::string, uint64_t>> step_waits;  // steps that waited, by what for; likewise
};

// teacher.json: the model that gave generated data its labels.
struct Teacher {
  double logloss = 0;
  double auc = 0;
  uint64_t rows = 0;
};

// What the quality guard of a worker found on one edge, and what it did.
struct GuardFinding {
  uint64_t worker = 0;
  uint64_t step = 0;
  std::string edge;
  double cost = 0;  // share of the log-loss
  double sparsity_before = 0;
  double sparsity_after = 0;
};
inline constexpr size_t kGuardFindingsMax = 10000;  // of a run that are read, the first ones

struct RunFolder {
  std::string config;  // job.yaml as it is
  RunResult result;
  MetricsSeries metrics;
  std::vector<GuardFinding> guard;
  std::optional<Teacher> teacher;
};

// Errors: NOT_FOUND names the missing file; DATA_LOSS names file, line and field.
absl::StatusOr<RunFolder> ReadRunFolder(const std::string& run_dir);
absl::StatusOr<RunResult> ReadRunResult(const std::string& run_dir);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_REPORT_RUN_FOLDER_H_
