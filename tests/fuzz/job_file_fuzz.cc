// Job files and --set overrides. Input: the file's text, then overrides, each after a NUL.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/job_file.h"
#include "proto/job_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(data, data + size);
  std::vector<std::string> parts = absl::StrSplit(input, '\0');
  const std::string text = parts.front();
  parts.erase(parts.begin());
  const absl::StatusOr<weir::Job> job = weir::ParseJob(text, "job.yaml", parts);
  if (!job.ok()) {
    if (job.status().code() != absl::StatusCode::kInvalidArgument) abort();
    return 0;
  }
  // What was accepted reads back the same.
  const absl::StatusOr<weir::Job> again = weir::ParseJob(weir::JobToYaml(*job), "again.yaml", {});
  if (!again.ok() || !google::protobuf::util::MessageDifferencer::Equals(*job, *again)) abort();
  if (weir::JobHash(*job) != weir::JobHash(*again)) abort();
  if (weir::TablesOf(*job).empty()) abort();
  return 0;
}
