// `weir compare`: a job under many settings, and what each costs in quality, bytes and time.
#ifndef WEIR_TOOLS_COMPARE_COMPARE_H_
#define WEIR_TOOLS_COMPARE_COMPARE_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "tools/compare/comparison_plan.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

// Runs the cells of a plan that have no result yet, seed by seed, so that every arm has its first result early; a cell that fails does not
// keep the others from running. After every cell <dir>/compare.json, compare.md and compare.html are written. Progress goes to standard
// error. `plan` gets the results, whatever the outcome. Errors: FAILED_PRECONDITION when another comparison runs in the folder; CANCELLED
// after a stop signal, when the rest is left for the next time; ABORTED when cells failed, after all others have run.
absl::Status RunComparison(const std::string& bin_dir, StopSignals* signals, ComparisonPlan* plan);

// Plans, runs and prints the table to standard output. Errors: those of PlanComparison, before anything is run or written, and of
// RunComparison.
absl::Status Compare(const CompareRequest& request, StopSignals* signals);

// Adds the subcommand; parsing fills *request, which outlives it.
CLI::App* AddCompareCommand(CLI::App* app, CompareRequest* request);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARE_H_
