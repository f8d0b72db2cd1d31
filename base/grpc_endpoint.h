// How every process opens and calls gRPC endpoints: one place for message limits, health, reflection, byte counting and status mapping.
#ifndef WEIR_BASE_GRPC_ENDPOINT_H_
#define WEIR_BASE_GRPC_ENDPOINT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/socket_bytes.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server.h"
#include "grpcpp/support/status.h"

namespace weir {

// A running server with health and reflection. Shuts down in the destructor: in-flight calls get `kShutdownGrace`.
class GrpcEndpoint {
 public:
  // Listens on `address` ("127.0.0.1:0" for a free port). The services outlive the endpoint. Error: UNAVAILABLE, naming the address.
  static absl::StatusOr<std::unique_ptr<GrpcEndpoint>> Listen(const std::string& address, const std::vector<grpc::Service*>& services);
  ~GrpcEndpoint();

  int port() const { return port_; }
  // host:port that peers can call: the host of `address`, the real port.
  const std::string& address() const { return address_; }
  void Shutdown();

 private:
  GrpcEndpoint() = default;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::string address_;
};

// A channel whose sockets are counted as `edge`. Never shares a connection with a channel of another edge. Connects lazily.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address, Edge edge);

// Sets the deadline of a call and makes it wait for the connection (a peer that is just starting is no error).
void SetDeadline(grpc::ClientContext* context, absl::Time deadline);

// The only mapping between the two status types. `peer` names who answered: "server 1 at 127.0.0.1:4000".
absl::Status FromGrpc(const grpc::Status& status, absl::string_view peer);
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace weir

#endif  // WEIR_BASE_GRPC_ENDPOINT_H_
