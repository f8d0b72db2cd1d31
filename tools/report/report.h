// What a person reads when a job is done: one self-contained page of a run, and a text table that puts runs side by side.
//
// Both read run folders (runs/<job>), which hold
//   job.yaml       the effective configuration
//   metrics.jsonl  one JSON object a line: the run over time
//   result.json    its end: quality on held-out rows, bytes on the wire, speed
//   teacher.json   only for generated data: the best quality that any model can reach on it
// Stateless; calls on different folders may run at the same time.
#ifndef WEIR_TOOLS_REPORT_REPORT_H_
#define WEIR_TOOLS_REPORT_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::tools {

// Writes <run_dir>/report.html, replacing an old one: result tiles, quality and bytes as tables, plots, the effective configuration. The
// page needs no network and no other file. Errors: NOT_FOUND names the file that the folder lacks; DATA_LOSS names file, line and
// field of what cannot be read; UNAVAILABLE when the page cannot be written.
absl::Status WriteReport(const std::string& run_dir);

// Runs as columns; log-loss, AUC, NE, calibration, bytes per training sample by edge and in all, wall time and samples/s as rows. Bytes are
// those of training: evaluation is left out. With two runs or more a last column says how the first run differs from the last: put the
// yardstick last. Ends with a newline. Errors as for WriteReport; INVALID_ARGUMENT without a folder.
absl::StatusOr<std::string> SummaryTable(const std::vector<std::string>& run_dirs);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_REPORT_REPORT_H_
