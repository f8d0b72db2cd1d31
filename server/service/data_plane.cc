#include "server/service/data_plane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/checkpoint_folder.h"
#include "server/checkpoint/shard_files.h"

namespace weir::server {
namespace {

TrainingStepsOptions StepsOptionsOf(const Job& job) {
  TrainingStepsOptions options;
  options.workers = job.cluster().workers();
  options.training = job.training();
  return options;
}

LookupHandler::Options LookupOptionsOf(const EmbeddingServerOptions& options) {
  LookupHandler::Options lookup;
  lookup.training = options.job.training();
  lookup.job_hash = options.job_hash;
  lookup.wait_max = absl::Seconds(options.job.cluster().call_timeout_seconds());
  lookup.workers = options.job.cluster().workers();
  const Compression::Lookup& codec = options.job.compression().lookup();
  if (codec.has_link_gbits()) lookup.link = codec.link_gbits() * 1e9 / 8;
  if (codec.scope() == Compression::SCOPE_CHANGE) {
    lookup.held_rows_max = codec.cache_rows();
  }
  return lookup;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataPlane>> DataPlane::Create(const EmbeddingServerOptions& options) {
  const Cluster& cluster = options.job.cluster();
  if (cluster.workers() == 0 || cluster.workers() > kWorkersMax) {
    return absl::InvalidArgumentError(absl::StrCat("cluster.workers is ", cluster.workers(), ": it must be 1 to ", kWorkersMax));
  }
  if (!(cluster.call_timeout_seconds() > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster.call_timeout_seconds is ", cluster.call_timeout_seconds(), ": it must be above 0"));
  }
  if (options.job.training().gradient_scale() == Training::GRADIENT_SCALE_UNSPECIFIED) {
    return absl::InvalidArgumentError("training.gradient_scale is not set: it must be sum or mean");
  }
  const ShardMap map = options.shard_map.shard_count() == 0 ? MakeShardMap(cluster.shards(), 1) : options.shard_map;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<TableRegistry> tables, TableRegistry::Create(options.job, {options.server_index, map}));
  std::unique_ptr<DataPlane> plane(new DataPlane(options, map, std::move(tables)));
  WEIR_RETURN_IF_ERROR(plane->Restore());
  return plane;
}

absl::Status DataPlane::Restore() {
  int64_t step = 0;
  if (!options_.resume_dir.empty()) {
    WEIR_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(options_.resume_dir));
    WEIR_RETURN_IF_ERROR(RestoreShards(manifest, options_.resume_dir, *tables_));
    step = manifest.step();
    steps_.Restore(step - 1);
  }
  const bool logs = !options_.checkpoint_dir.empty() && options_.job.checkpoint().push_log();
  if (!logs) {
    if (!options_.rejoin) return absl::OkStatus();
    return absl::FailedPreconditionError("a server of this job cannot come back alone: it has no log of pushes (checkpoint.push_log)");
  }
  WEIR_ASSIGN_OR_RETURN(log_, PushLog::Open(absl::StrCat(options_.checkpoint_dir, "/push-log"), options_.server_index));
  if (options_.rejoin) {
    WEIR_RETURN_IF_ERROR(log_->Replay(step, *tables_, [this](PushPart part) { return steps_.Accept(std::move(part)).status(); }));
  } else {
    WEIR_RETURN_IF_ERROR(log_->Begin(step));
  }
  steps_.RecordWith(log_.get());
  return absl::OkStatus();
}

DataPlane::DataPlane(const EmbeddingServerOptions& options, const ShardMap& map, std::unique_ptr<TableRegistry> tables)
    : options_(options),
      tables_(std::move(tables)),
      map_(map),
      new_(options.server_index >= map.servers()),
      tickets_(options.job.cluster().workers(), kStepsAheadMax + std::max(options.job.training().staleness(), 0)),
      steps_(StepsOptionsOf(options.job), tables_.get()),
      lookups_(LookupOptionsOf(options), tables_.get(), &steps_, &tickets_),
      pushes_(options.job_hash, tables_.get(), &steps_, &tickets_) {}

absl::Status DataPlane::CheckCheckpoint(uint64_t job_hash) const {
  if (job_hash != options_.job_hash) {
    return absl::FailedPreconditionError(
        absl::StrCat("a checkpoint of job ", absl::Hex(job_hash), ", this is job ", absl::Hex(options_.job_hash)));
  }
  if (options_.checkpoint_dir.empty()) return absl::FailedPreconditionError("this job saves no checkpoints");
  return absl::OkStatus();
}

ShardMap DataPlane::shard_map() const {
  MutexLock lock(&map_mu_);
  return map_;
}

void DataPlane::WaitUntilApplied(int64_t step, absl::Time deadline, const void* owner, Done done) {
  Waiter waiter;
  waiter.owner = owner;
  waiter.step = step - 1;
  waiter.deadline = deadline;
  waiter.resume = [done = std::move(done)](const absl::Status& status) { done(status); };
  steps_.WaitUntilApplied(std::move(waiter));
}

void DataPlane::GainShards(const ShardMap& map) { tables_->GainShards(map); }

void DataPlane::DropShards(const ShardMap& map, int64_t step) {
  tables_->DropShards(map);
  MutexLock lock(&map_mu_);
  map_ = map;
  if (std::exchange(new_, false)) steps_.Restore(step - 1);
}

void DataPlane::FreezeShards(const FreezeShardsRequest& request, absl::Time deadline, const void* owner, Done done) {
  if (const absl::Status status = CheckCheckpoint(request.job_hash()); !status.ok()) return done(status);
  const int64_t step = request.step();
  WaitUntilApplied(step, deadline, owner, [this, step, last_whole = request.last_whole(), done = std::move(done)](absl::Status status) {
    if (status.ok() && log_ != nullptr) status = log_->Rotate(step, last_whole);
    if (!status.ok()) return done(status);
    server::FreezeShards(*tables_);
    frozen_step_ = step;
    done(absl::OkStatus());
  });
}

absl::StatusOr<SavedShards> DataPlane::SaveShards(const SaveShardsRequest& request) {
  WEIR_RETURN_IF_ERROR(CheckCheckpoint(request.job_hash()));
  int64_t step = request.step();
  if (!frozen_step_.compare_exchange_strong(step, -1)) {
    return absl::FailedPreconditionError(absl::StrCat("nothing is frozen before step ", request.step(), ": the server came back since"));
  }
  return server::SaveShards(
      *tables_, absl::StrCat(UnfinishedCheckpoint(options_.checkpoint_dir, request.step()), "/", ServerFileName(options_.server_index)));
}

DescribeReply DataPlane::Describe() const {
  DescribeReply reply;
  reply.set_job_hash(options_.job_hash);
  reply.set_server_index(options_.server_index);
  *reply.mutable_shard_map() = shard_map();
  for (uint32_t index = 0; index < tables_->size(); ++index) {
    const Table& table = tables_->at(index);
    const TableSize size = table.Size();
    TableDescription* const description = reply.add_tables();
    description->set_name(table.spec().name);
    description->set_dim(table.dim());
    description->set_rows(size.rows);
    description->set_bytes(size.memory_bytes);
    *description->mutable_initializer() = table.spec().initializer;
  }
  reply.set_applied_step(steps_.applied_step());
  reply.set_fingerprint(tables_->Fingerprint());
  reply.set_protocol_version(kProtocolVersion);
  reply.set_seed(options_.job.seed());
  return reply;
}

}  // namespace weir::server
