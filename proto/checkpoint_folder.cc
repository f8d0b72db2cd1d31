#include "proto/checkpoint_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kUnfinished = ".unfinished";
constexpr absl::string_view kManifest = "manifest.json";
constexpr absl::string_view kLatest = "latest";

std::string Join(absl::string_view folder, absl::string_view name) { return absl::StrCat(folder, "/", name); }
std::string CheckpointName(int64_t step) { return absl::StrCat("step-", step); }

absl::Status FolderError(absl::string_view doing, absl::string_view path, const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot ", doing, " ", path));
}

// Names in a folder reach the disk with it, not with the files.
absl::Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  return synced ? absl::OkStatus() : absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
}

// A later one may be being written.
bool IsUnfinishedBefore(absl::string_view name, int64_t step) {
  int64_t unfinished = 0;
  return absl::ConsumePrefix(&name, "step-") && absl::ConsumeSuffix(&name, kUnfinished) && absl::SimpleAtoi(name, &unfinished) &&
         unfinished < step;
}

void RemoveUnfinishedBefore(const std::string& dir, int64_t step) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(dir, ignored)) {
    if (IsUnfinishedBefore(entry.path().filename().native(), step)) fs::remove_all(entry.path(), ignored);
  }
}

// Later steps than `step` are of a course that the job has given up by going back: they are not newer, and nobody counts them.
void RemoveOldCheckpoints(const std::string& dir, int64_t step, uint32_t keep) {
  std::error_code ignored;
  std::vector<int64_t> steps = CheckpointSteps(dir);
  steps.erase(std::upper_bound(steps.begin(), steps.end(), step), steps.end());
  for (size_t i = 0; i + keep < steps.size(); ++i) fs::remove_all(Join(dir, CheckpointName(steps[i])), ignored);
  RemoveUnfinishedBefore(dir, step);
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::ostringstream content;
  content << file.rdbuf();
  std::string bytes = content.str();
  if (bytes.size() > kManifestBytesMax) return absl::DataLossError(absl::StrCat(path, " has ", bytes.size(), " bytes: too many"));
  return bytes;
}

absl::Status CheckFile(const std::string& folder, const SavedFile& file) {
  const std::string path = Join(folder, file.name());
  // A manifest is read by those who did not write it: a name must not lead out of the folder.
  if (file.name().empty() || absl::StrContains(file.name(), '/')) {
    return absl::DataLossError(
        absl::StrCat(Join(folder, kManifest), " names the file '", file.name(), "', which is no name in its folder"));
  }
  std::error_code error;
  const uintmax_t bytes = fs::file_size(path, error);
  if (error) return FolderError("read", path, error);
  if (bytes == file.bytes()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " has ", bytes, " bytes, but ", kManifest, " says ", file.bytes()));
}

// What may be different when a job goes on: where it runs and how long, not what it learns.
Job WhatIsLearned(Job job) {
  job.clear_name();
  job.clear_cluster();
  job.clear_output();
  job.clear_checkpoint();
  job.mutable_training()->clear_epochs();
  job.mutable_training()->clear_steps_max();
  job.mutable_training()->clear_threads();
  job.mutable_training()->clear_prefetch();
  return job;
}

}  // namespace

std::string UnfinishedCheckpoint(absl::string_view dir, int64_t step) { return absl::StrCat(Join(dir, CheckpointName(step)), kUnfinished); }

std::string ServerFileName(uint32_t index) { return absl::StrCat("server-", index, ".state"); }
std::string WorkerFileName(uint32_t rank) { return absl::StrCat("worker-", rank, ".state"); }

absl::Status BeginCheckpoint(const std::string& dir, int64_t step) {
  const std::string folder = UnfinishedCheckpoint(dir, step);
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? FolderError("make", folder, error) : absl::OkStatus();
}

void RemoveUnfinishedCheckpoints(const std::string& dir) { RemoveUnfinishedBefore(dir, std::numeric_limits<int64_t>::max()); }

absl::Status FinishCheckpoint(const std::string& dir, const CheckpointManifest& manifest, uint32_t keep) {
  const std::string unfinished = UnfinishedCheckpoint(dir, manifest.step());
  const std::string name = CheckpointName(manifest.step());
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(manifest, &json, options).ok()) {
    return absl::InternalError("the manifest cannot be written as JSON");
  }
  WEIR_RETURN_IF_ERROR(WriteFileAtomically(Join(unfinished, kManifest), json));
  WEIR_RETURN_IF_ERROR(SyncFolder(unfinished));
  std::error_code error;
  // A job that went on from an earlier step comes by again.
  fs::remove_all(Join(dir, name), error);
  fs::rename(unfinished, Join(dir, name), error);
  if (error) return FolderError("finish", unfinished, error);
  WEIR_RETURN_IF_ERROR(WriteFileAtomically(Join(dir, kLatest), name + "\n"));
  WEIR_RETURN_IF_ERROR(SyncFolder(dir));
  RemoveOldCheckpoints(dir, manifest.step(), keep);
  return absl::OkStatus();
}

std::vector<int64_t> CheckpointSteps(const std::string& dir) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    absl::string_view number = entry.path().filename().native();
    int64_t step = 0;
    if (absl::ConsumePrefix(&number, "step-") && absl::SimpleAtoi(number, &step)) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

absl::StatusOr<std::string> LatestCheckpoint(const std::string& dir) {
  const absl::StatusOr<std::string> latest = ReadSmallFile(Join(dir, kLatest));
  const std::vector<int64_t> steps = CheckpointSteps(dir);
  for (const int64_t step : steps) {
    if (latest.ok() && *latest == CheckpointName(step) + "\n") return Join(dir, CheckpointName(step));
  }
  if (!steps.empty()) return Join(dir, CheckpointName(steps.back()));
  return absl::NotFoundError(absl::StrCat(dir, " has no checkpoint"));
}

absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& folder) {
  const std::string path = Join(folder, kManifest);
  WEIR_ASSIGN_OR_RETURN(const std::string json, ReadSmallFile(path));
  CheckpointManifest manifest;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of later versions, which the next check refuses by name
  if (const auto status = google::protobuf::util::JsonStringToMessage(json, &manifest, options); !status.ok()) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: ", status.ToString()));
  }
  if (manifest.format_version() != kCheckpointFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": format_version is ", manifest.format_version(), "; this build reads ", kCheckpointFormatVersion));
  }
  if (manifest.servers().empty() || manifest.workers().empty()) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: it names no servers or no workers"));
  }
  for (const SavedShards& shards : manifest.servers()) WEIR_RETURN_IF_ERROR(CheckFile(folder, shards.file()));
  for (const SavedFile& file : manifest.workers()) WEIR_RETURN_IF_ERROR(CheckFile(folder, file));
  return manifest;
}

absl::Status CheckResumable(const CheckpointManifest& manifest, const Job& job) {
  const Job saved = WhatIsLearned(manifest.job()), wanted = WhatIsLearned(job);
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  if (differencer.Compare(saved, wanted)) return absl::OkStatus();
  const absl::string_view first = *absl::StrSplit(difference, '\n').begin();
  return absl::FailedPreconditionError(absl::StrCat(
      "the checkpoint before step ", manifest.step(), " was saved by a job that learns something else (", first,
      "): a job goes on with other servers, workers, epochs and outputs, but not with other data, models, optimizers or compression"));
}

std::string CheckpointDir(const Job& job, absl::string_view run_dir) {
  std::error_code error;
  const std::string dir = job.checkpoint().dir().empty() ? Join(run_dir, "checkpoints") : job.checkpoint().dir();
  const fs::path absolute = fs::absolute(dir, error);
  return error ? dir : absolute.lexically_normal().string();
}

}  // namespace weir
