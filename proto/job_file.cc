#include "proto/job_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "proto/job_defaults.h"
#include "proto/job_validate.h"
#include "proto/job_yaml.h"
#include "xxhash.h"

namespace weir {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read: ", std::strerror(errno)));
  std::string text(kJobFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read: ", std::strerror(errno)));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

// Every path gets absolute: the effective configuration is read from elsewhere.
void ResolvePaths(const std::filesystem::path& folder, google::protobuf::RepeatedPtrField<std::string>* files) {
  for (std::string& file : *files) {
    if (!file.empty()) file = std::filesystem::absolute(folder / file).lexically_normal().string();
  }
}

absl::StatusOr<Job> Parse(absl::string_view text, const std::string& name, const std::vector<std::string>& sets, bool resolve_paths) {
  if (text.size() > kJobFileBytesMax)
    return absl::InvalidArgumentError(absl::StrCat(name, ": is longer than ", kJobFileBytesMax, " bytes"));
  Job job;
  JobSource source(name);
  WEIR_RETURN_IF_ERROR(MergeYaml(text, name, &job, &source));
  if (resolve_paths) {
    const std::filesystem::path folder = std::filesystem::path(name).parent_path();
    ResolvePaths(folder, job.mutable_data()->mutable_train());
    ResolvePaths(folder, job.mutable_data()->mutable_test());
  }
  Job alone = job;
  WEIR_RETURN_IF_ERROR(FillDefaults(source, FileSettings::kRefuse, &alone));
  for (const std::string& set : sets) WEIR_RETURN_IF_ERROR(ApplySet(set, &job, &source));
  if (resolve_paths) {
    ResolvePaths("", job.mutable_data()->mutable_train());
    ResolvePaths("", job.mutable_data()->mutable_test());
  }
  if (!job.has_name()) job.set_name(std::filesystem::path(name).stem().string());
  WEIR_RETURN_IF_ERROR(FillDefaults(source, FileSettings::kDrop, &job));
  WEIR_RETURN_IF_ERROR(ValidateJob(source, job));
  return job;
}

}  // namespace

absl::StatusOr<Job> ReadJobFile(const std::string& path, const std::vector<std::string>& sets) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return Parse(text, path, sets, true);
}

absl::StatusOr<Job> ParseJob(absl::string_view text, absl::string_view name, const std::vector<std::string>& sets) {
  return Parse(text, std::string(name), sets, false);
}

uint64_t JobHash(const Job& job) {
  Job hashed = job;
  hashed.mutable_output()->clear_dir();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    hashed.SerializeToCodedStream(&coded);
  }
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace weir
