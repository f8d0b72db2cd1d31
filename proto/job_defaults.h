// Which settings of a job have an effect beside the others, and what they are when nobody says.
#ifndef WEIR_PROTO_JOB_DEFAULTS_H_
#define WEIR_PROTO_JOB_DEFAULTS_H_

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "proto/job_yaml.h"

namespace weir {

// What to do with a setting of the job file that has no effect. One of the command line is always refused.
enum class FileSettings {
  kRefuse,
  kDrop,  // the command line took its effect: --set compression.dense.method=none takes the file's compression.dense.sparsity with it
};

// Sets every setting that has an effect and was not said. INVALID_ARGUMENT, naming place and reason: a setting was said that has none.
absl::Status FillDefaults(const JobSource& source, FileSettings file_settings, Job* job);

}  // namespace weir

#endif  // WEIR_PROTO_JOB_DEFAULTS_H_
