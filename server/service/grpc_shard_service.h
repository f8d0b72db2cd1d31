// The gRPC surface of shards that move between servers, and what a server does to take some over.
#ifndef WEIR_SERVER_SERVICE_GRPC_SHARD_SERVICE_H_
#define WEIR_SERVER_SERVICE_GRPC_SHARD_SERVICE_H_

#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/shard_service.grpc.pb.h"
#include "server/service/data_plane.h"

namespace weir::server {

// Thread-safe. Answers UNAVAILABLE while nothing is attached. Takes over on a thread of its own.
class GrpcShardService : public ShardService::CallbackService {
 public:
  ~GrpcShardService() override;

  // The data plane outlives the calls that began while it was attached. Null detaches, and waits for the taking over under way.
  void Attach(DataPlane* plane);

  grpc::ServerUnaryReactor* TakeShards(grpc::CallbackServerContext* context, const TakeShardsRequest* request,
                                       TakeShardsReply* reply) override;
  grpc::ServerUnaryReactor* PlaceShards(grpc::CallbackServerContext* context, const PlaceShardsRequest* request,
                                        PlaceShardsReply* reply) override;
  grpc::ServerWriteReactor<ShardRows>* GiveShards(grpc::CallbackServerContext* context, const GiveShardsRequest* request) override;

 private:
  Mutex mu_;
  DataPlane* plane_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::thread taking_ ABSL_GUARDED_BY(mu_);
};

// Takes over what `request` gives this server, from the servers that own it, until the deadline. Returns the rows. Errors name the giver.
absl::StatusOr<uint64_t> TakeShards(const TakeShardsRequest& request, absl::Time deadline, DataPlane* plane);

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_GRPC_SHARD_SERVICE_H_
