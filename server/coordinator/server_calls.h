// Calls of the coordinator to all servers at once.
#ifndef WEIR_SERVER_COORDINATOR_SERVER_CALLS_H_
#define WEIR_SERVER_COORDINATOR_SERVER_CALLS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace weir::server {

// One call to the server of this index.
using ServerCall = std::function<grpc::Status(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context, size_t server)>;

struct ServerCallOptions {
  absl::Duration timeout;
  // Waits for so long; true: the caller is going down.
  std::function<bool(absl::Duration)> stops_within;
};

// Makes the call to every address, each on a thread of its own, again where it is UNAVAILABLE (a server that was killed may come back), and
// returns the first error by index, which names the server.
absl::Status CallServers(const std::vector<std::string>& addresses, const ServerCallOptions& options, const ServerCall& call);

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_SERVER_CALLS_H_
