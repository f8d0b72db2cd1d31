// The gRPC surface of an embedding server, and all of gRPC that it sees: no thread is held by a lookup that waits.
#ifndef WEIR_SERVER_SERVICE_GRPC_DATA_SERVICE_H_
#define WEIR_SERVER_SERVICE_GRPC_DATA_SERVICE_H_

#include <atomic>

#include "proto/data_service.grpc.pb.h"
#include "server/service/data_plane.h"

namespace weir::server {

// Thread-safe. Answers UNAVAILABLE while nothing is attached.
class GrpcDataService : public DataService::CallbackService {
 public:
  // The data plane outlives the calls that began while it was attached. Null detaches.
  void Attach(const DataPlane* plane) { plane_.store(plane, std::memory_order_release); }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const DescribeRequest* request, DescribeReply* reply) override;
  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context, const LookupRequest* request, LookupReply* reply) override;
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context, const PushRequest* request, PushReply* reply) override;

 private:
  const DataPlane* plane() const { return plane_.load(std::memory_order_acquire); }

  std::atomic<const DataPlane*> plane_{nullptr};  // release publishes what the plane was built from
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_GRPC_DATA_SERVICE_H_
