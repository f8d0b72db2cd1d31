// Everything of an embedding server below gRPC: its tables, steps, tickets and handlers, put together from a job.
#ifndef WEIR_SERVER_SERVICE_DATA_PLANE_H_
#define WEIR_SERVER_SERVICE_DATA_PLANE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/checkpoint.pb.h"
#include "proto/data_service.pb.h"
#include "proto/job.pb.h"
#include "proto/shard_map.h"
#include "server/checkpoint/push_log.h"
#include "server/service/lookup_handler.h"
#include "server/service/push_handler.h"
#include "server/service/ticket_store.h"
#include "server/table/table_registry.h"
#include "server/table/training_steps.h"

namespace weir::server {

struct EmbeddingServerOptions {
  Job job;  // effective: all defaults set
  uint64_t job_hash = 0;
  uint32_t server_index = 0;
  ShardMap shard_map = {};          // not set: all of the job's shards are this server's
  std::string checkpoint_dir = {};  // where checkpoints are saved; empty: none are
  std::string resume_dir = {};      // the checkpoint to begin from; empty: none
  bool rejoin = false;              // with the pushes that were logged since
};

// Thread-safe.
class DataPlane {
 public:
  // INVALID_ARGUMENT: a job, or a place in it, that no server can serve. Errors of the checkpoint's files name them.
  static absl::StatusOr<std::unique_ptr<DataPlane>> Create(const EmbeddingServerOptions& options);

  ~DataPlane() { Stop(); }

  const LookupHandler& lookups() const { return lookups_; }
  const PushHandler& pushes() const { return pushes_; }
  const TableRegistry& tables() const { return *tables_; }
  const EmbeddingServerOptions& options() const { return options_; }
  ShardMap shard_map() const;

  // What a server does for moving shards (proto/shard_service.proto).

  // Calls `done` once, when the pushes of all steps before `step` are applied. `owner` as for TrainingSteps::Cancel.
  using Done = std::function<void(const absl::Status&)>;
  void WaitUntilApplied(int64_t step, absl::Time deadline, const void* owner, Done done);
  // The shards that `map` gives this server are its own from now on; it goes on giving those that it had.
  void GainShards(const ShardMap& map);
  // This is the map, and only its shards are the server's own. A server that is new in the job begins with this step.
  void DropShards(const ShardMap& map, int64_t step);

  // Freezes all rows once the pushes of all steps before request.step are applied, and calls `done` once. `owner` as for
  // TrainingSteps::Cancel.
  void FreezeShards(const FreezeShardsRequest& request, absl::Time deadline, const void* owner, Done done);
  // Saves what was frozen.
  absl::StatusOr<SavedShards> SaveShards(const SaveShardsRequest& request);
  // Walks over all rows.
  DescribeReply Describe() const;
  // Lookups that wait, and later ones, end with UNAVAILABLE.
  void Stop() { steps_.Stop(); }

 private:
  DataPlane(const EmbeddingServerOptions& options, const ShardMap& map, std::unique_ptr<TableRegistry> tables);
  absl::Status CheckCheckpoint(uint64_t job_hash) const;
  // Takes over the checkpoint and the log of pushes.
  absl::Status Restore();

  const EmbeddingServerOptions options_;
  const std::unique_ptr<TableRegistry> tables_;
  mutable Mutex map_mu_;
  ShardMap map_ ABSL_GUARDED_BY(map_mu_);
  bool new_ ABSL_GUARDED_BY(map_mu_);     // in the job: it takes no part in steps yet
  std::unique_ptr<PushLog> log_;          // null: pushes are not logged
  std::atomic<int64_t> frozen_step_{-1};  // that rows are frozen before; -1: they are not
  TicketStore tickets_;
  TrainingSteps steps_;
  const LookupHandler lookups_;
  const PushHandler pushes_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_DATA_PLANE_H_
