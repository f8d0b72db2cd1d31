#include "tools/launch/prepare_run.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tools/launch/binaries.h"
#include "tools/launch/new_run_folder.h"

namespace weir::tools {

absl::Status CheckDataFiles(const Job& job) {
  for (const auto* files : {&job.data().train(), &job.data().test()}) {
    for (const std::string& file : *files) {
      if (access(file.c_str(), R_OK) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read the data file ", file));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ClusterOptions> PrepareRun(const Job& job, const std::string& bin_dir) {
  // Before anything starts: the commonest mistake.
  WEIR_RETURN_IF_ERROR(CheckDataFiles(job));
  ClusterOptions options;
  WEIR_ASSIGN_OR_RETURN(options.binaries, FindBinaries(bin_dir, ThisExecutable()));
  WEIR_ASSIGN_OR_RETURN(options.run_dir, MakeRunFolder(job));
  return options;
}

}  // namespace weir::tools
