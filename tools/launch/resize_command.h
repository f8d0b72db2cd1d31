// weir resize: gives a running job another number of servers.
#ifndef WEIR_TOOLS_LAUNCH_RESIZE_COMMAND_H_
#define WEIR_TOOLS_LAUNCH_RESIZE_COMMAND_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

struct ResizeArguments {
  std::string run;  // folder of a running job
  uint32_t servers = 0;
};

CLI::App* AddResizeCommand(CLI::App* app, ResizeArguments* arguments);

// Asks the job's coordinator for so many servers, and follows the shards on standard error until all have moved. Errors: NOT_FOUND, no job
// runs there; what the coordinator refuses; ABORTED, the job ended before. A stop signal ends the following, not the change: CANCELLED.
absl::Status Resize(const ResizeArguments& arguments, StopSignals* signals);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_RESIZE_COMMAND_H_
