#include "tools/launch/coordinator_link.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/grpc_endpoint.h"
#include "proto/control_service.grpc.pb.h"

namespace weir::tools {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(1);

class GrpcCoordinatorLink final : public CoordinatorLink {
 public:
  explicit GrpcCoordinatorLink(const std::string& address)
      : address_(address),
        peer_(absl::StrCat("coordinator at ", address)),
        stub_(ControlService::NewStub(OpenChannel(address, Edge::kNotCounted))) {}

  const std::string& address() const override { return address_; }

  absl::StatusOr<StatusReply> Status() override {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
    StatusReply reply;
    const absl::Status status = FromGrpc(stub_->Status(&context, StatusRequest(), &reply), peer_);
    if (!status.ok()) return status;
    return reply;
  }

  absl::Status Resize(uint32_t servers) override {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
    ResizeRequest request;
    request.set_servers(servers);
    ResizeReply reply;
    return FromGrpc(stub_->Resize(&context, request, &reply), peer_);
  }

  absl::Status Stop(absl::string_view reason) override {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
    StopRequest request;
    request.set_reason(std::string(reason));
    StopReply reply;
    return FromGrpc(stub_->Stop(&context, request, &reply), peer_);
  }

 private:
  const std::string address_;
  const std::string peer_;
  const std::unique_ptr<ControlService::Stub> stub_;
};

}  // namespace

std::unique_ptr<CoordinatorLink> CoordinatorLink::Open(const std::string& address) {
  return std::make_unique<GrpcCoordinatorLink>(address);
}

}  // namespace weir::tools
