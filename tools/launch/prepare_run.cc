#include "tools/launch/prepare_run.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/checkpoint_folder.h"
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

namespace {

absl::StatusOr<std::string> FindLatest(const std::string& dir) {
  absl::StatusOr<std::string> latest = LatestCheckpoint(dir);
  if (!absl::IsNotFound(latest.status())) return latest;
  return absl::NotFoundError(absl::StrCat("nothing to resume: ", latest.status().message(), "; launch without --resume"));
}

// A new run would take away what a job that did not end could go on from.
absl::Status CheckNothingToResume(const Job& job, const std::string& run_dir) {
  const std::string dir = CheckpointDir(job, run_dir);
  const bool done = access(absl::StrCat(run_dir, "/result.json").c_str(), F_OK) == 0;
  const bool inside = job.checkpoint().dir().empty();
  if (CheckpointSteps(dir).empty() || (done && inside)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(dir, " has checkpoints of ", done ? "an earlier run" : "a run that did not end",
                                               ": go on with --resume, or remove them, or take another ",
                                               inside ? "name" : "checkpoint.dir"));
}

}  // namespace

absl::StatusOr<ClusterOptions> PrepareRun(const Job& job, const std::string& bin_dir, const RunStart& start) {
  // Before anything starts: the commonest mistake.
  WEIR_RETURN_IF_ERROR(CheckDataFiles(job));
  ClusterOptions options;
  WEIR_ASSIGN_OR_RETURN(options.binaries, FindBinaries(bin_dir, ThisExecutable()));
  const std::string run_dir = RunFolderOf(job);
  if (start.resume) {
    options.resume_dir = start.checkpoint;
    if (start.checkpoint.empty()) {
      WEIR_ASSIGN_OR_RETURN(options.resume_dir, FindLatest(CheckpointDir(job, run_dir)));
    }
    WEIR_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(options.resume_dir));
    WEIR_RETURN_IF_ERROR(CheckResumable(manifest, job));
    WEIR_ASSIGN_OR_RETURN(options.run_dir, ReuseRunFolder(job));
    return options;
  }
  WEIR_RETURN_IF_ERROR(CheckNothingToResume(job, run_dir));
  WEIR_ASSIGN_OR_RETURN(options.run_dir, MakeRunFolder(job));
  return options;
}

}  // namespace weir::tools
