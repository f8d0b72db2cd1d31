// `weir explain`: where the bytes and milliseconds of runs went.
#ifndef WEIR_TOOLS_EXPLAIN_EXPLAIN_H_
#define WEIR_TOOLS_EXPLAIN_EXPLAIN_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"

namespace weir::tools {

struct ExplainRequest {
  std::vector<std::string> runs;  // folders
  bool all = false;               // every table and layer
  bool json = false;
};

// Prints the account of each run. Errors: those of ReadRunResult and AccountTable, naming the folder.
absl::Status Explain(const ExplainRequest& request);

// Adds the subcommand; parsing fills *request, which outlives it.
CLI::App* AddExplainCommand(CLI::App* app, ExplainRequest* request);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_EXPLAIN_EXPLAIN_H_
