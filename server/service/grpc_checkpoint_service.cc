#include "server/service/grpc_checkpoint_service.h"

#include <utility>

#include "absl/time/time.h"
#include "base/grpc_endpoint.h"

namespace weir::server {
namespace {

absl::Status NotServing() { return absl::UnavailableError("the server does not serve a job now: it is starting or going down"); }

}  // namespace

GrpcCheckpointService::~GrpcCheckpointService() { Attach(nullptr); }

void GrpcCheckpointService::Attach(DataPlane* plane) {
  std::thread writing;
  {
    MutexLock lock(&mu_);
    plane_ = plane;
    writing = std::move(writing_);
  }
  if (writing.joinable()) writing.join();
}

grpc::ServerUnaryReactor* GrpcCheckpointService::FreezeShards(grpc::CallbackServerContext* context, const FreezeShardsRequest* request,
                                                              FreezeShardsReply*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  DataPlane* plane = nullptr;
  {
    MutexLock lock(&mu_);
    plane = plane_;
  }
  if (plane == nullptr) {
    reactor->Finish(ToGrpc(NotServing()));
    return reactor;
  }
  plane->FreezeShards(*request, absl::FromChrono(context->deadline()), reactor,
                      [reactor](const absl::Status& status) { reactor->Finish(ToGrpc(status)); });
  return reactor;
}

grpc::ServerUnaryReactor* GrpcCheckpointService::SaveShards(grpc::CallbackServerContext* context, const SaveShardsRequest* request,
                                                            SavedShards* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  MutexLock lock(&mu_);
  if (plane_ == nullptr) {
    reactor->Finish(ToGrpc(NotServing()));
    return reactor;
  }
  // The coordinator saves one checkpoint at a time: an earlier writing has ended, or its caller has given it up.
  if (writing_.joinable()) writing_.join();
  writing_ = std::thread([plane = plane_, request, reply, reactor] {
    absl::StatusOr<SavedShards> saved = plane->SaveShards(*request);
    if (saved.ok()) *reply = *std::move(saved);
    reactor->Finish(ToGrpc(saved.status()));
  });
  return reactor;
}

}  // namespace weir::server
