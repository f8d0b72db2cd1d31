#include "server/service/grpc_shard_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/grpc_endpoint.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "server/checkpoint/shard_files.h"
#include "server/service/call_keys.h"

namespace weir::server {
namespace {

absl::Status NotServing() { return absl::UnavailableError("the server does not serve a job now: it is starting or going down"); }

absl::Status CheckMap(const ShardMap& map, const DataPlane& plane) {
  WEIR_RETURN_IF_ERROR(CheckShardMap(map));
  const uint32_t shards = plane.shard_map().shard_count();
  if (map.shard_count() == shards) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("shard map (", ToString(map), "): this job has ", shards, " shards"));
}

// Writes the rows of some shards, table by table, a message of about kCallBytesTarget after the other.
class ShardWriter final : public grpc::ServerWriteReactor<ShardRows> {
 public:
  ShardWriter(DataPlane* plane, const GiveShardsRequest& request, absl::Time deadline)
      : plane_(plane), shards_(request.shards().begin(), request.shards().end()) {
    if (const absl::Status refused = Check(request); !refused.ok()) {
      Finish(ToGrpc(refused));
      return;
    }
    plane_->WaitUntilApplied(request.step(), deadline, this,
                             [this](const absl::Status& status) { status.ok() ? WriteNext() : Finish(ToGrpc(status)); });
  }

  void OnWriteDone(bool ok) override { ok ? WriteNext() : Finish(ToGrpc(absl::CancelledError("the caller has gone"))); }
  void OnDone() override { delete this; }

 private:
  absl::Status Check(const GiveShardsRequest& request) {
    WEIR_RETURN_IF_ERROR(CheckJobHash(request.job_hash(), plane_->options().job_hash));
    const ShardMap map = plane_->shard_map();
    for (const uint32_t shard : shards_) {
      if (shard >= map.shard_count() || OwnerOf(map, shard) != plane_->options().server_index) {
        return absl::InvalidArgumentError(
            absl::StrCat("shard ", shard, ": it is not one of server ", plane_->options().server_index, " (", ToString(map), ")"));
      }
    }
    return absl::OkStatus();
  }

  void WriteNext() {
    while (written_ == rows_.keys.size()) {
      if (shard_ == shards_.size() || plane_->tables().size() == 0) return Finish(grpc::Status::OK);
      plane_->tables().at(table_).CopyRows(shards_[shard_], &rows_);
      message_.set_table(table_);
      written_ = 0;
      if (++table_ == plane_->tables().size()) {
        table_ = 0;
        ++shard_;
      }
    }
    const Table& table = plane_->tables().at(message_.table());
    const size_t row_floats = table.row_floats();
    const size_t most = std::max<size_t>(1, kCallBytesTarget / (sizeof(Key) + row_floats * sizeof(float)));
    const size_t count = std::min(most, rows_.keys.size() - written_);
    message_.set_rows(SerializeRows(table, absl::MakeConstSpan(rows_.keys).subspan(written_, count),
                                    absl::MakeConstSpan(rows_.values).subspan(written_ * row_floats, count * row_floats)));
    written_ += count;
    StartWrite(&message_);
  }

  DataPlane* const plane_;
  const std::vector<uint32_t> shards_;
  size_t shard_ = 0;    // the next to be copied,
  uint32_t table_ = 0;  // of this table
  RowBatch rows_;       // copied
  size_t written_ = 0;  // of them
  ShardRows message_;
};

// What a server asks another one for.
struct Source {
  uint32_t index = 0;
  std::string address;
};

absl::StatusOr<uint64_t> TakeFrom(const Source& source, const GiveShardsRequest& request, absl::Time deadline,
                                  const TableRegistry& tables) {
  const std::string name = absl::StrCat("server ", source.index, " at ", source.address);
  const auto stub = ShardService::NewStub(OpenChannel(source.address, Edge::kNotCounted));
  grpc::ClientContext context;
  SetDeadline(&context, deadline);
  const auto reader = stub->GiveShards(&context, request);
  ShardRows message;
  uint64_t rows = 0;
  absl::Status status;
  while (status.ok() && reader->Read(&message)) {
    const absl::StatusOr<Table*> table = tables.Find(message.table());
    absl::StatusOr<RowBatch> batch = table.ok() ? ParseRows(**table, message.rows()) : table.status();
    if (batch.ok()) {
      rows += batch->keys.size();
      (*table)->ReceiveRows(*batch);
      continue;
    }
    status = absl::Status(batch.status().code(), absl::StrCat(name, ", table ", message.table(), ": ", batch.status().message()));
    context.TryCancel();
  }
  const grpc::Status ended = reader->Finish();
  WEIR_RETURN_IF_ERROR(status);
  WEIR_RETURN_IF_ERROR(FromGrpc(ended, name));
  return rows;
}

}  // namespace

absl::StatusOr<uint64_t> TakeShards(const TakeShardsRequest& request, absl::Time deadline, DataPlane* plane) {
  WEIR_RETURN_IF_ERROR(CheckJobHash(request.job_hash(), plane->options().job_hash));
  WEIR_RETURN_IF_ERROR(CheckMap(request.map(), *plane));
  const uint32_t self = plane->options().server_index;
  const ShardMap before = plane->shard_map();
  std::map<uint32_t, GiveShardsRequest> requests;  // by giver
  for (uint32_t shard = 0; shard < before.shard_count(); ++shard) {
    const uint32_t giver = OwnerOf(before, shard);
    if (giver != self && OwnerOf(request.map(), shard) == self) requests[giver].add_shards(shard);
  }
  uint64_t rows = 0;
  for (auto& [giver, wanted] : requests) {
    if (giver >= static_cast<uint32_t>(request.servers_size())) {
      return absl::InvalidArgumentError(absl::StrCat("servers: no address of server ", giver, ", which owns shard ", wanted.shards(0)));
    }
    wanted.set_job_hash(request.job_hash());
    wanted.set_step(request.step());
    WEIR_ASSIGN_OR_RETURN(const uint64_t taken,
                          TakeFrom({giver, request.servers(static_cast<int>(giver))}, wanted, deadline, plane->tables()));
    rows += taken;
  }
  plane->GainShards(request.map());
  return rows;
}

GrpcShardService::~GrpcShardService() { Attach(nullptr); }

void GrpcShardService::Attach(DataPlane* plane) {
  std::thread taking;
  {
    MutexLock lock(&mu_);
    plane_ = plane;
    taking = std::move(taking_);
  }
  if (taking.joinable()) taking.join();
}

grpc::ServerUnaryReactor* GrpcShardService::TakeShards(grpc::CallbackServerContext* context, const TakeShardsRequest* request,
                                                       TakeShardsReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  MutexLock lock(&mu_);
  if (plane_ == nullptr) {
    reactor->Finish(ToGrpc(NotServing()));
    return reactor;
  }
  // The coordinator moves shards once at a time: an earlier call has ended, or its caller has given it up.
  if (taking_.joinable()) taking_.join();
  taking_ = std::thread([plane = plane_, request, reply, reactor, deadline = absl::FromChrono(context->deadline())] {
    const absl::StatusOr<uint64_t> rows = server::TakeShards(*request, deadline, plane);
    if (rows.ok()) reply->set_rows(*rows);
    reactor->Finish(ToGrpc(rows.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* GrpcShardService::PlaceShards(grpc::CallbackServerContext* context, const PlaceShardsRequest* request,
                                                        PlaceShardsReply*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  MutexLock lock(&mu_);
  absl::Status status = plane_ == nullptr ? NotServing() : CheckJobHash(request->job_hash(), plane_->options().job_hash);
  if (status.ok()) status = CheckMap(request->map(), *plane_);
  if (status.ok()) plane_->DropShards(request->map(), request->step());
  reactor->Finish(ToGrpc(status));
  return reactor;
}

grpc::ServerWriteReactor<ShardRows>* GrpcShardService::GiveShards(grpc::CallbackServerContext* context, const GiveShardsRequest* request) {
  class Refusal final : public grpc::ServerWriteReactor<ShardRows> {
   public:
    Refusal() { Finish(ToGrpc(NotServing())); }
    void OnDone() override { delete this; }
  };
  DataPlane* plane = nullptr;
  {
    MutexLock lock(&mu_);
    plane = plane_;
  }
  if (plane == nullptr) return new Refusal;
  return new ShardWriter(plane, *request, absl::FromChrono(context->deadline()));
}

}  // namespace weir::server
