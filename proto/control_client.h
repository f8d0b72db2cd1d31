// A process's side of the control plane: joins the job, tells that it lives, meets the others.
#ifndef WEIR_PROTO_CONTROL_CLIENT_H_
#define WEIR_PROTO_CONTROL_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/socket_bytes.h"
#include "proto/control_service.grpc.pb.h"
#include "proto/job.pb.h"
#include "proto/shard_map.h"

namespace weir {

// Of all that is written for a checkpoint.
inline constexpr absl::Duration kCheckpointTimeout = absl::Minutes(10);

// Thread-safe.
class ControlClient {
 public:
  struct Options {
    std::string coordinator;  // host:port
    Role role = ROLE_UNSPECIFIED;
    std::string address;                         // of this process's own services
    absl::Duration timeout = absl::Seconds(60);  // of each call that does not say otherwise
    std::optional<uint32_t> rejoin;              // server: comes back in this place
  };

  // Registers. Errors name the coordinator's address.
  static absl::StatusOr<std::unique_ptr<ControlClient>> Join(const Options& options);
  virtual ~ControlClient() = default;

  virtual uint32_t index() const = 0;  // server index or worker rank
  virtual uint64_t incarnation() const = 0;
  virtual const Job& job() const = 0;  // effective: all defaults set
  virtual uint64_t job_hash() const = 0;

  // Starts a thread that sends a heartbeat every `period` with what `progress` returns (workers; may be null). `instructed` is called once,
  // on that thread, when the job is to be left or aborted, or the coordinator has been silent for the job's stall_timeout (then ABORT, with
  // the reason). Ends in the destructor and in Leave.
  virtual void StartHeartbeats(absl::Duration period, std::function<WorkerProgress()> progress,
                               std::function<void(HeartbeatReply::Instruction, std::string)> instructed) = 0;

  virtual absl::Status PutValue(absl::string_view key, absl::string_view value) = 0;
  // Waits until every key has a value.
  virtual absl::StatusOr<std::vector<std::string>> GetValues(const std::vector<std::string>& keys, absl::Duration timeout) = 0;
  virtual absl::StatusOr<NextRangeReply> NextRange(NextRangeRequest::Set set) = 0;
  virtual absl::Status Barrier(absl::string_view name, absl::Duration timeout) = 0;
  // Where checkpoints go, and the one to begin from; empty: none.
  virtual const std::string& checkpoint_dir() const = 0;
  virtual const std::string& resume_dir() const = 0;
  // Servers: what to own from the beginning.
  virtual const ShardMap& shard_map() const = 0;
  virtual absl::StatusOr<PauseDueReply> PauseDue(int64_t step) = 0;
  // Waits until the shards have moved, at most kCheckpointTimeout.
  virtual absl::StatusOr<AwaitShardMapReply> AwaitShardMap(int64_t step) = 0;
  // Fills worker_rank. Waits until the worker may go on, at most kCheckpointTimeout.
  virtual absl::Status SaveCheckpoint(SaveCheckpointRequest request) = 0;
  virtual absl::Status CheckpointWritten(int64_t step) = 0;
  virtual absl::Status ReportEvaluation(absl::Span<const float> scores, absl::Span<const uint8_t> labels) = 0;
  // Fills role, index and incarnation.
  virtual absl::Status Leave(LeaveRequest request) = 0;
  // Ends the job as failed.
  virtual absl::Status Stop(absl::string_view reason) = 0;
};

// The two forms of the same five numbers.
WireBytes ToWireBytes(const EdgeBytes& bytes);
EdgeBytes FromWireBytes(const WireBytes& bytes);

// Rendezvous key of a server's data address, and of a worker's peer address.
std::string ServerAddressKey(uint32_t server_index);
std::string PeerAddressKey(uint32_t worker_rank);

}  // namespace weir

#endif  // WEIR_PROTO_CONTROL_CLIENT_H_
