// A job as processes on this machine: coordinator, servers, workers.
#ifndef WEIR_TOOLS_LAUNCH_LOCAL_CLUSTER_H_
#define WEIR_TOOLS_LAUNCH_LOCAL_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"
#include "tools/launch/binaries.h"
#include "tools/launch/child_process.h"
#include "tools/launch/coordinator_link.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

struct ClusterOptions {
  std::string run_dir;  // made by MakeRunFolder: has job.yaml and logs/
  Binaries binaries;
  std::string resume_dir;                             // of the checkpoint to go on from; empty: none
  uint32_t life = 0;                                  // how often the job's processes have been started anew: their logs are apart
  uint32_t rejoins = 0;                               // how many killed servers may come back alone
  std::function<void(const std::string&)> on_rejoin;  // told who was killed and comes back
  bool trace = false;                                 // workers write theirs into <run_dir>/trace/
  absl::Duration start_timeout = absl::Seconds(30);   // of each process: until the coordinator tells its address, until another has joined
  absl::Duration leave_timeout = absl::Seconds(60);   // from the coordinator's end to everyone's
  absl::Duration stop_grace = absl::Seconds(5);       // from SIGTERM to SIGKILL
  absl::Duration refresh = absl::Milliseconds(200);   // between two status calls
};

// Single-threaded. Its processes never outlive it: the destructor stops what runs, and the kernel kills what a dead launcher leaves.
class LocalCluster {
 public:
  LocalCluster(const Job& job, ClusterOptions options, StopSignals* signals);
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // Starts everything, watches it, and returns when all have ended and none is left. `on_status` is called with every status of the
  // coordinator. Errors: ABORTED, naming the first process that died, how, and the last lines of its log; CANCELLED after a stop signal;
  // DEADLINE_EXCEEDED, naming who is silent.
  absl::Status Run(const std::function<void(const StatusReply&)>& on_status);
  // After Run: whether it failed because something killed one of the processes.
  bool killed() const { return killed_; }
  // How many killed servers came back alone.
  uint32_t rejoins() const { return rejoins_; }
  // How many servers the job was to have last (`weir resize`).
  uint32_t servers() const { return servers_; }

 private:
  // A process to start besides the coordinator.
  struct Peer {
    Role role;
    uint32_t index;
    std::string binary;

    std::string Name() const;  // "worker 1"
  };

  // As many as the job begins with.
  std::vector<Peer> Peers() const;
  // Starts the next server that the job is to have more, when the one before has joined.
  absl::Status StartMoreServers(const StatusReply& status);
  // Starts a killed server again in its place, with its log of pushes; false: this job, or this moment, does not allow that.
  absl::StatusOr<bool> RejoinServer(size_t child);
  // How a peer is started.
  std::vector<std::string> CommandOf(const Peer& peer, const std::string& coordinator_address) const;
  // "<run folder>/logs/worker-1.log".
  std::string LogPath(const std::string& name) const;
  absl::StatusOr<std::string> StartCoordinator();
  // One after the other: the coordinator gives indices in the order of joining, and they must be those of the names.
  absl::Status StartPeers(const std::string& coordinator_address);
  absl::Status WaitUntilJoined(const Peer& peer);
  absl::Status Watch(const std::function<void(const StatusReply&)>& on_status);
  // Waits for a moment; CANCELLED when a stop signal came, ABORTED when a process died.
  absl::Status Pause();
  // Whether all have ended well; ABORTED for the first that did not.
  absl::StatusOr<bool> AllEnded();
  // Whose failure ended the job: `first` is the first whose end was seen, but one failure makes others fail at once.
  const ChildProcess& Culprit(const ChildProcess& first);
  absl::Status Died(const ChildProcess& child, const ProcessEnd& end);
  absl::Status Interrupted() const;
  // Asks everyone to end, then makes them.
  void StopAll(const std::string& reason);

  const Job& job_;
  const ClusterOptions options_;
  StopSignals* const signals_;
  std::vector<std::unique_ptr<ChildProcess>> children_;  // the coordinator first
  std::vector<Peer> peers_;                              // of children_[1], [2], ...
  uint32_t servers_;
  std::unique_ptr<CoordinatorLink> link_;
  bool killed_ = false;
  uint32_t rejoins_ = 0;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_LOCAL_CLUSTER_H_
