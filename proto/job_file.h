// Job files: YAML to a typed Job and back.
#ifndef WEIR_PROTO_JOB_FILE_H_
#define WEIR_PROTO_JOB_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace weir {

// Reads a job file, applies `sets` ("compression.dense.sparsity=0.999": the value is YAML, lists by [a, b]; tables.C3.x is not a path:
// lists are set whole, and so is a group, as in "compression={dense: {method: none}}"), fills defaults and validates. Relative data paths
// of the file are taken from its folder, those of `sets` from the current one; all become absolute. Errors, INVALID_ARGUMENT, name file,
// line and key: an unknown key (with the nearest known one), a value of the wrong type or out of range, a setting that has no effect beside
// the others. A setting of the file that loses its effect by `sets` goes: "compression.dense.method=none" takes the file's
// compression.dense.sparsity with it.
absl::StatusOr<Job> ReadJobFile(const std::string& path, const std::vector<std::string>& sets);

// The same from text; `name` stands for the file in errors. Paths stay as they are.
absl::StatusOr<Job> ParseJob(absl::string_view text, absl::string_view name, const std::vector<std::string>& sets);

// The job as YAML that ReadJobFile reads back to the same Job: the effective configuration. Settings that have no effect are left out.
std::string JobToYaml(const Job& job);

// Hash of the effective job: the same on every machine and in every process of it.
uint64_t JobHash(const Job& job);

}  // namespace weir

#endif  // WEIR_PROTO_JOB_FILE_H_
