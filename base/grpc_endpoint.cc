#include "base/grpc_endpoint.h"

#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_socket_hook.h"
#include "base/limits.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace weir {
namespace {

constexpr absl::Duration kShutdownGrace = absl::Seconds(2);

// Counts every socket of a channel as one edge. Owned by gRPC's reference count.
struct EdgeMutator : grpc_socket_mutator {
  Edge edge;
};

bool MutateFd(int fd, grpc_socket_mutator* mutator) {
  CountSocket(fd, static_cast<EdgeMutator*>(mutator)->edge);
  return true;
}

// Channels compare equal, and may share a connection, only when they are of one edge.
int CompareMutators(grpc_socket_mutator* a, grpc_socket_mutator* b) {
  return static_cast<int>(static_cast<EdgeMutator*>(a)->edge) - static_cast<int>(static_cast<EdgeMutator*>(b)->edge);
}

void DestroyMutator(grpc_socket_mutator* mutator) { delete static_cast<EdgeMutator*>(mutator); }

constexpr grpc_socket_mutator_vtable kEdgeMutatorVtable = {MutateFd, CompareMutators, DestroyMutator, nullptr};

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

void EnableHealthAndReflection() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcEndpoint>> GrpcEndpoint::Listen(const std::string& address,
                                                                   const std::vector<grpc::Service*>& services) {
  if (!absl::StrContains(address, ':')) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on '", address, "': say HOST:PORT, port 0 for a free one"));
  }
  EnableHealthAndReflection();
  std::unique_ptr<GrpcEndpoint> endpoint(new GrpcEndpoint);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &endpoint->port_);
  // Without this a second process would quietly share the port and take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.SetMaxSendMessageSize(kMessageBytesMax);
  for (grpc::Service* service : services) builder.RegisterService(service);
  endpoint->server_ = builder.BuildAndStart();
  if (endpoint->server_ == nullptr || endpoint->port_ == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": the port is taken or the address is not of this machine; choose another, or port 0"));
  }
  endpoint->server_->GetHealthCheckService()->SetServingStatus(true);
  endpoint->address_ = absl::StrCat(HostOf(address), ":", endpoint->port_);
  return endpoint;
}

GrpcEndpoint::~GrpcEndpoint() { Shutdown(); }

void GrpcEndpoint::Shutdown() {
  if (server_ == nullptr) return;
  server_->Shutdown(absl::ToChronoTime(absl::Now() + kShutdownGrace));
  server_->Wait();
  server_ = nullptr;
}

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address, Edge edge) {
  auto* mutator = new EdgeMutator;
  mutator->edge = edge;
  grpc_socket_mutator_init(mutator, &kEdgeMutatorVtable);
  grpc::ChannelArguments arguments;
  arguments.SetSocketMutator(mutator);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  // A peer that starts later than we do is found within this, not within gRPC's default of up to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Peers are named by address; a proxy of the environment must not come between.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void SetDeadline(grpc::ClientContext* context, absl::Time deadline) {
  context->set_deadline(absl::ToChronoTime(deadline));
  context->set_wait_for_ready(true);
}

absl::Status FromGrpc(const grpc::Status& status, absl::string_view peer) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), absl::StrCat(peer, ": ", status.error_message()));
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace weir
