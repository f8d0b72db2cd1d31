// `weir launch`: a job from its file to its report.
#ifndef WEIR_TOOLS_LAUNCH_LAUNCH_COMMAND_H_
#define WEIR_TOOLS_LAUNCH_LAUNCH_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

struct LaunchRequest {
  std::string job_file;
  std::vector<std::string> sets;
  std::string bin_dir;          // empty: beside this executable
  bool resume = false;          // go on from the latest checkpoint of an earlier run
  std::string checkpoint = {};  // with resume: this one's folder instead of the latest; may be empty
  bool trace = false;           // workers write what they did when into the run folder
};

// Runs the job on this machine, with restarts (job_lives.h), shows its progress on standard error, writes the report and prints the result
// on standard output. Errors as for ReadJobFile, PrepareRun and RunJobLives.
absl::Status Launch(const LaunchRequest& request, StopSignals* signals);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_LAUNCH_COMMAND_H_
