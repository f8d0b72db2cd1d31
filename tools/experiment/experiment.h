// `weir experiment`: published experiments run again.
#ifndef WEIR_TOOLS_EXPERIMENT_EXPERIMENT_H_
#define WEIR_TOOLS_EXPERIMENT_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

struct DctPaperRequest {
  uint64_t rows = 1000000;         // generated, when there are no files
  std::vector<std::string> files;  // Criteo TSV
  uint64_t test_rows = 100000;     // the last ones
  uint32_t seeds = 1;
  std::string out = "runs/dct-paper";
  std::vector<std::string> only;  // tables; empty: all
  std::vector<std::string> sets;
  std::string bin_dir;
};

// Runs what has no result in the folder yet, prints the tables and writes them to <out>/dct-paper.md, beside compare.html and compare.json.
// Errors: those of PaperArms, RunDatagen, PlanComparison and RunComparison.
absl::Status RunDctPaper(const DctPaperRequest& request, StopSignals* signals);

// Adds the subcommand; parsing fills *request, which outlives it. Returns `experiment dct-paper`.
CLI::App* AddExperimentCommand(CLI::App* app, DctPaperRequest* request);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_EXPERIMENT_EXPERIMENT_H_
