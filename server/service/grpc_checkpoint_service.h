// The gRPC surface of a server's part of checkpoints.
#ifndef WEIR_SERVER_SERVICE_GRPC_CHECKPOINT_SERVICE_H_
#define WEIR_SERVER_SERVICE_GRPC_CHECKPOINT_SERVICE_H_

#include <memory>
#include <thread>

#include "base/mutex.h"
#include "proto/checkpoint.grpc.pb.h"
#include "server/service/data_plane.h"

namespace weir::server {

// Thread-safe. Answers UNAVAILABLE while nothing is attached. Writes on a thread of its own, one file at a time.
class GrpcCheckpointService : public CheckpointService::CallbackService {
 public:
  ~GrpcCheckpointService() override;

  // The data plane outlives the calls that began while it was attached. Null detaches, and waits for the writing under way.
  void Attach(DataPlane* plane);

  grpc::ServerUnaryReactor* FreezeShards(grpc::CallbackServerContext* context, const FreezeShardsRequest* request,
                                         FreezeShardsReply* reply) override;
  grpc::ServerUnaryReactor* SaveShards(grpc::CallbackServerContext* context, const SaveShardsRequest* request, SavedShards* reply) override;

 private:
  Mutex mu_;
  DataPlane* plane_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::thread writing_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_GRPC_CHECKPOINT_SERVICE_H_
