// Changes the number of servers while the job trains: shards move some at a time, between two steps, and the job goes on in between.
#ifndef WEIR_SERVER_COORDINATOR_SHARD_MOVES_H_
#define WEIR_SERVER_COORDINATOR_SHARD_MOVES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"
#include "proto/shard_map.h"

namespace weir::server {

// Thread-safe. Calls servers on a thread of its own.
class ShardMoves {
 public:
  struct Options {
    Job job;
    uint64_t job_hash = 0;
    bool checkpoints = false;                                          // the job saves some: also when the last shard has moved
    std::function<std::vector<std::string>()> servers;                 // addresses of all that have registered, by index
    std::function<absl::Status(absl::Duration)> wait_for_checkpoints;  // until none is being saved: a frozen shard must stay
    std::function<void(uint32_t)> done;                                // told how many servers there are now
    std::function<void(const absl::Status&)> failed;                   // told, on the object's thread, why shards could not move
  };
  explicit ShardMoves(Options options);
  // As Stop.
  ~ShardMoves();

  // From now on `servers` are wanted. INVALID_ARGUMENT: none, or more than shards. FAILED_PRECONDITION: another change is under way.
  absl::Status Begin(uint32_t servers);
  uint32_t wanted() const;
  ShardMap map() const;
  // Shards have moved since the last checkpoint: a server cannot come back with its log of pushes alone.
  bool moved_since_checkpoint() const;
  // A checkpoint has become whole whose map was the one of now.
  void CheckpointSaved();

  // Answers the part of ControlService.PauseDue: whoever asks first about a step decides it for all.
  bool Due(int64_t step);
  // Answers ControlService.AwaitShardMap: `finish` is called once. INVALID_ARGUMENT: a rank that does not exist. A repeated request
  // replaces the one before. `reply` lives until then.
  void Await(const AwaitShardMapRequest& request, AwaitShardMapReply* reply, std::function<void(const absl::Status&)> finish);

  // Answers who waits, and later ones, with CANCELLED, after the calls under way.
  void Stop();

 private:
  struct Waiting {
    AwaitShardMapReply* reply = nullptr;
    std::function<void(const absl::Status&)> finish;
  };
  using Waiters = std::map<uint32_t, Waiting>;  // by rank

  void MoveLoop();
  // Before `step`.
  absl::StatusOr<AwaitShardMapReply> Move(int64_t step);
  bool StopsWithin(absl::Duration time);

  const Options options_;
  mutable Mutex mu_;
  CondVar changed_;
  ShardMap map_ ABSL_GUARDED_BY(mu_);
  uint32_t wanted_ ABSL_GUARDED_BY(mu_);
  bool moved_since_checkpoint_ ABSL_GUARDED_BY(mu_) = false;
  std::map<int64_t, bool> due_ ABSL_GUARDED_BY(mu_);         // answers, the last kAnswersMax
  std::map<int64_t, Waiters> waiting_ ABSL_GUARDED_BY(mu_);  // by step
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  uint32_t batch_ = 1;     // shards to move at a time; the object's thread alone uses it, as what follows
  absl::Time began_;       // the change under way
  uint64_t rows_ = 0;      // that it has moved
  absl::Duration waited_;  // of the workers, for it
  uint32_t pauses_ = 0;    // likewise
  std::thread moving_;     // started last
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_SHARD_MOVES_H_
