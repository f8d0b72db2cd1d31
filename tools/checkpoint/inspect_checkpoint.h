// `weir inspect checkpoint`: what a checkpoint holds, whether it is whole, and how two of them differ.
#ifndef WEIR_TOOLS_CHECKPOINT_INSPECT_CHECKPOINT_H_
#define WEIR_TOOLS_CHECKPOINT_INSPECT_CHECKPOINT_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::tools {

struct InspectRequest {
  std::string checkpoint;  // as for FindCheckpoint
  std::string diff;        // likewise; empty: none
  bool json = false;
};

// Reads all of a checkpoint, which checks it: tables with rows, bytes and norms; what workers hold back, by edge; step, samples, files.
absl::StatusOr<std::string> DescribeCheckpoint(const std::string& path, bool json);
// What is different in `second`: rows that came, went and changed, and by how much, by table and layer.
absl::StatusOr<std::string> CompareCheckpoints(const std::string& first, const std::string& second, bool json);

// Prints either. Errors name file and record.
absl::Status Inspect(const InspectRequest& request);

// Adds the subcommand; parsing fills *request, which outlives it.
CLI::App* AddInspectCommand(CLI::App* app, InspectRequest* request);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_CHECKPOINT_INSPECT_CHECKPOINT_H_
