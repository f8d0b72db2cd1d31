// What a job may ask for: ranges of its settings, and which go together.
#ifndef WEIR_PROTO_JOB_VALIDATE_H_
#define WEIR_PROTO_JOB_VALIDATE_H_

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "proto/job_yaml.h"

namespace weir {

// INVALID_ARGUMENT, naming place, setting and reason. REQUIRES: a job with its defaults set.
absl::Status ValidateJob(const JobSource& source, const Job& job);

}  // namespace weir

#endif  // WEIR_PROTO_JOB_VALIDATE_H_
