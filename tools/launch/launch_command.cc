#include "tools/launch/launch_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/job_file.h"
#include "tools/launch/binaries.h"
#include "tools/launch/local_cluster.h"
#include "tools/launch/new_run_folder.h"
#include "tools/launch/progress_bar.h"
#include "tools/report/report.h"

namespace weir::tools {
namespace {

// Before anything starts: the commonest mistake.
absl::Status CheckDataFiles(const Job& job) {
  for (const auto* files : {&job.data().train(), &job.data().test()}) {
    for (const std::string& file : *files) {
      if (access(file.c_str(), R_OK) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read the data file ", file));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Launch(const LaunchRequest& request, StopSignals* signals) {
  WEIR_ASSIGN_OR_RETURN(const Job job, ReadJobFile(request.job_file, request.sets));
  WEIR_RETURN_IF_ERROR(CheckDataFiles(job));
  ClusterOptions options;
  WEIR_ASSIGN_OR_RETURN(options.binaries, FindBinaries(request.bin_dir, ThisExecutable()));
  WEIR_ASSIGN_OR_RETURN(options.run_dir, MakeRunFolder(job));
  const std::string run_dir = options.run_dir;
  std::fprintf(stderr, "%s: 1 coordinator, %u servers, %u workers; logs in %s/logs\n", job.name().c_str(), job.cluster().servers(),
               job.cluster().workers(), run_dir.c_str());
  {
    ProgressBar progress(stderr, job.cluster());
    LocalCluster cluster(job, std::move(options), signals);
    WEIR_RETURN_IF_ERROR(cluster.Run([&progress](const StatusReply& status) { progress.Show(status); }));
  }
  WEIR_RETURN_IF_ERROR(WriteReport(run_dir));
  WEIR_ASSIGN_OR_RETURN(const std::string summary, SummaryTable({run_dir}));
  std::printf("%s\nreport: %s/report.html\n", summary.c_str(), run_dir.c_str());
  return absl::OkStatus();
}

}  // namespace weir::tools
