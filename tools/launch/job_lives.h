// A job from its start to its end, however often its processes die.
#ifndef WEIR_TOOLS_LAUNCH_JOB_LIVES_H_
#define WEIR_TOOLS_LAUNCH_JOB_LIVES_H_

#include <functional>

#include "absl/status/status.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"
#include "tools/launch/local_cluster.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

// Runs the job as LocalCluster does. A server that is killed comes back alone where the job logs pushes. When another process is killed,
// all of them start anew from the latest checkpoint (from the beginning when none is saved yet), at most checkpoint.restarts times; a
// process that ends with an error of its own ends the job, since it would again. Says on standard error who died, where the job goes on,
// and how long it took from the death to the first step that is new. A job that was resized goes on with its new number of servers.
// options.resume_dir is where the first life begins. Errors are those of the last LocalCluster::Run.
absl::Status RunJobLives(Job job, ClusterOptions options, StopSignals* signals, const std::function<void(const StatusReply&)>& on_status);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_JOB_LIVES_H_
