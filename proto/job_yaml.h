// The text form of a job: YAML to proto/job.proto and back, by reflection. Knows types, not meanings: proto/job_defaults.h and
// proto/job_validate.h know those.
//
// A path names a setting: "compression.dense.sparsity", "embeddings.tables[0].optimizer.beta1".
#ifndef WEIR_PROTO_JOB_YAML_H_
#define WEIR_PROTO_JOB_YAML_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace weir {

// Remembers where each setting was said, for error messages.
class JobSource {
 public:
  // `name` stands for the job file.
  explicit JobSource(absl::string_view name) : name_(name) {}

  // `place`: "job.yaml:12" or "--set a.b".
  void Say(const std::string& path, const std::string& place) { places_[path] = place; }
  // Forgets a setting and everything below it.
  void Forget(absl::string_view path);
  bool Said(const std::string& path) const { return places_.count(path) > 0; }
  // By --set, not in the file.
  bool SaidBySet(absl::string_view path) const;
  // Where a setting was said, or the nearest one above it; the job file where none was.
  std::string Place(absl::string_view path) const;
  // INVALID_ARGUMENT "<place>: <path>: <what>".
  absl::Status Error(absl::string_view path, absl::string_view what) const;

 private:
  std::string name_;
  std::map<std::string, std::string> places_;
};

// Merges a YAML document into `job`. INVALID_ARGUMENT, naming place and key: not YAML, unknown key, duplicate key, wrong type, number out
// of the type's range.
absl::Status MergeYaml(absl::string_view text, absl::string_view name, Job* job, JobSource* source);

// Applies one "a.b=value" of the command line to a Job or a group of it; a list or a group ("compression={...}") is replaced whole.
absl::Status ApplySet(absl::string_view set, google::protobuf::Message* root, JobSource* source);

// Sets `path`, which has no list index, to a value written as YAML. For values of our own: a wrong one is a bug and ends the process.
void SetFromYaml(absl::string_view path, absl::string_view value, google::protobuf::Message* root);

void ClearPath(absl::string_view path, Job* job);

// The field that a path without list index names. REQUIRES: it exists.
struct JobField {
  const google::protobuf::Message* message = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;

  bool IsSet() const;
  double Number() const;  // REQUIRES: a single number, or the name of one
};
JobField FindField(const google::protobuf::Message& root, absl::string_view path);

// "fp16" of METHOD_FP16.
std::string EnumText(const google::protobuf::EnumValueDescriptor* value);

// A number as the shortest text that reads back to the same bits.
std::string NumberText(double value);

}  // namespace weir

#endif  // WEIR_PROTO_JOB_YAML_H_
