#include "tools/launch/launch_command.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/job_file.h"
#include "tools/launch/job_lives.h"
#include "tools/launch/local_cluster.h"
#include "tools/launch/prepare_run.h"
#include "tools/launch/progress_bar.h"
#include "tools/report/report.h"

namespace weir::tools {

absl::Status Launch(const LaunchRequest& request, StopSignals* signals) {
  WEIR_ASSIGN_OR_RETURN(const Job job, ReadJobFile(request.job_file, request.sets));
  WEIR_ASSIGN_OR_RETURN(ClusterOptions options, PrepareRun(job, request.bin_dir, {request.resume, request.checkpoint}));
  const std::string run_dir = options.run_dir;
  options.trace = request.trace;
  if (request.trace && mkdir(absl::StrCat(run_dir, "/trace").c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat(run_dir, "/trace cannot be made"));
  }
  if (request.resume) std::fprintf(stderr, "%s: goes on from %s\n", job.name().c_str(), options.resume_dir.c_str());
  std::fprintf(stderr, "%s: 1 coordinator, %u servers, %u workers; logs in %s/logs\n", job.name().c_str(), job.cluster().servers(),
               job.cluster().workers(), run_dir.c_str());
  {
    ProgressBar progress(stderr, job.cluster());
    WEIR_RETURN_IF_ERROR(RunJobLives(job, std::move(options), signals, [&progress](const StatusReply& status) { progress.Show(status); }));
  }
  WEIR_RETURN_IF_ERROR(WriteReport(run_dir));
  WEIR_ASSIGN_OR_RETURN(const std::string summary, SummaryTable({run_dir}));
  std::printf("%s\nreport: %s/report.html\n", summary.c_str(), run_dir.c_str());
  if (request.trace) std::printf("traces: %s/trace/worker-*.json, for ui.perfetto.dev or chrome://tracing\n", run_dir.c_str());
  return absl::OkStatus();
}

}  // namespace weir::tools
