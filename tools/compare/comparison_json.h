// A comparison as JSON: what compare.json holds, and what compare.html draws. Pure.
#ifndef WEIR_TOOLS_COMPARE_COMPARISON_JSON_H_
#define WEIR_TOOLS_COMPARE_COMPARISON_JSON_H_

#include <string>

#include "tools/compare/comparison.h"

namespace weir::tools {

// {"job", "job_file", "sets", "varied", "seeds", "base", "references", "arms": [{
//   "name", "sets", "yardstick", "same", "refused": null or why, "finished", "pareto",
//   "logloss", "ne", "auc": {"mean", "spread", "difference", "difference_spread", "relative", "p", "test": "paired t" or "Welch t"},
//   "seconds", "samples_per_second": {"mean", "spread"},
//   "bytes_per_sample": {"lookup_request", "lookup_reply", "push", "dense", "control", "all"},
//   "runs": [{"seed", "folder", "state": "to run", "done" or "failed", "reason", "job_hash", "logloss", "ne", "auc", "seconds",
//             "samples_per_second", "samples", "bytes_per_sample"}]}]}
// "base" and "references" are names of arms. null: not known. Bytes are those of training. ASCII, without a newline at the end.
std::string ComparisonJson(const Comparison& comparison);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARISON_JSON_H_
