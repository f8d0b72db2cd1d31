// The coordinator's gRPC service: takes each call's arrival and deadline, delegates, maps the status. No call holds a thread while it
// waits.
#ifndef WEIR_SERVER_COORDINATOR_CONTROL_SERVICE_H_
#define WEIR_SERVER_COORDINATOR_CONTROL_SERVICE_H_

#include <memory>

#include "grpcpp/impl/codegen/service_type.h"
#include "server/coordinator/checkpoints.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/range_server.h"
#include "server/coordinator/shard_moves.h"

namespace weir::server {

// All outlive the service, and the service outlives the endpoint that serves it.
std::unique_ptr<grpc::Service> CreateControlService(Coordinator* coordinator, RangeServer* ranges, Checkpoints* checkpoints,
                                                    ShardMoves* moves);

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_CONTROL_SERVICE_H_
