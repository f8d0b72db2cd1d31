// What stands between a job and its processes.
#ifndef WEIR_TOOLS_LAUNCH_PREPARE_RUN_H_
#define WEIR_TOOLS_LAUNCH_PREPARE_RUN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "tools/launch/local_cluster.h"

namespace weir::tools {

// Whether this process can read the job's data files; the error names the first that it cannot.
absl::Status CheckDataFiles(const Job& job);

struct RunStart {
  // False: an earlier run of the same name goes; ALREADY_EXISTS when it could be resumed. True: it goes on; NOT_FOUND when there is no
  // checkpoint, FAILED_PRECONDITION when it is of another job.
  bool resume = false;
  std::string checkpoint;  // folder of the checkpoint to go on from; empty: the latest
};

// Checks the data files, finds the binaries and makes the run folder. `bin_dir` empty: beside this executable. Errors also as for
// CheckDataFiles, FindBinaries and MakeRunFolder.
absl::StatusOr<ClusterOptions> PrepareRun(const Job& job, const std::string& bin_dir, const RunStart& start = {});

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_PREPARE_RUN_H_
