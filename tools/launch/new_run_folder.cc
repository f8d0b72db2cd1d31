#include "tools/launch/new_run_folder.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/job_file.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

absl::Status FolderError(const fs::path& folder, absl::string_view what, const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot ", what, " the run folder ", folder.string()));
}

absl::Status RemoveEarlierRun(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return absl::OkStatus();
  const bool empty_folder = fs::is_directory(folder, error) && fs::is_empty(folder, error);
  if (!empty_folder && !fs::is_regular_file(folder / "job.yaml", error)) {
    return absl::AlreadyExistsError(absl::StrCat(
        folder.string(), " exists and has no job.yaml, so no run made it and it is left alone; take another name or output.dir"));
  }
  fs::remove_all(folder, error);
  if (error) return FolderError(folder, "replace", error);
  return absl::OkStatus();
}

// weir datagen leaves FILE.json beside its rows: the quality of the model that labelled them, the best that any can reach. Kept for the
// report.
void CopyTeacher(const Job& job, const fs::path& folder) {
  const std::string& evaluated = job.data().test_size() > 0 ? job.data().test(0) : job.data().train(job.data().train_size() - 1);
  std::error_code without_teacher;
  fs::copy_file(evaluated + ".json", folder / "teacher.json", without_teacher);
}

}  // namespace

std::string RunFolderOf(const Job& job) { return (fs::path(job.output().dir()) / job.name()).string(); }

absl::StatusOr<std::string> MakeRunFolder(const Job& job) {
  WEIR_RETURN_IF_ERROR(RemoveEarlierRun(RunFolderOf(job)));
  return ReuseRunFolder(job);
}

absl::StatusOr<std::string> ReuseRunFolder(const Job& job) {
  const fs::path folder = RunFolderOf(job);
  std::error_code error;
  fs::create_directories(folder / "logs", error);
  if (error) return FolderError(folder, "make", error);
  const fs::path job_file = folder / "job.yaml";
  std::ofstream out(job_file);
  out << "# Effective configuration, hash " << absl::StrFormat("%016x", JobHash(job)) << ". weir launch reads it like any job file.\n";
  out << JobToYaml(job);
  out.close();
  if (!out) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", job_file.string()));
  CopyTeacher(job, folder);
  return folder.string();
}

}  // namespace weir::tools
