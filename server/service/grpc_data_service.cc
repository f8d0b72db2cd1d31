#include "server/service/grpc_data_service.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/grpc_endpoint.h"

namespace weir::server {
namespace {

// Owns itself until gRPC is done with it.
class LookupReactor final : public grpc::ServerUnaryReactor {
 public:
  LookupReactor(const LookupHandler* handler, const grpc::CallbackServerContext& context) : handler_(handler) {
    call_.deadline = absl::FromChrono(context.deadline());
    call_.done = [this](absl::Status status) { Finish(ToGrpc(status)); };
  }

  void Start(const LookupRequest* request, LookupReply* reply) {
    call_.request = request;
    call_.reply = reply;
    handler_->Start(&call_);
  }
  void OnCancel() override { handler_->Cancel(&call_); }
  void OnDone() override { delete this; }

 private:
  const LookupHandler* const handler_;
  LookupCall call_;
};

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

absl::Status NotServing() { return absl::UnavailableError("the server does not serve a job now: it is starting or going down"); }

}  // namespace

grpc::ServerUnaryReactor* GrpcDataService::Describe(grpc::CallbackServerContext* context, const DescribeRequest* request,
                                                    DescribeReply* reply) {
  const DataPlane* const serving = plane();
  if (serving == nullptr) return FinishNow(context, NotServing());
  *reply = serving->Describe();
  return FinishNow(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* GrpcDataService::Lookup(grpc::CallbackServerContext* context, const LookupRequest* request, LookupReply* reply) {
  const DataPlane* const serving = plane();
  if (serving == nullptr) return FinishNow(context, NotServing());
  auto* const reactor = new LookupReactor(&serving->lookups(), *context);
  reactor->Start(request, reply);
  return reactor;
}

grpc::ServerUnaryReactor* GrpcDataService::Push(grpc::CallbackServerContext* context, const PushRequest* request, PushReply* reply) {
  const DataPlane* const serving = plane();
  if (serving == nullptr) return FinishNow(context, NotServing());
  absl::StatusOr<std::vector<std::function<void()>>> released = serving->pushes().Push(*request, reply);
  grpc::ServerUnaryReactor* const reactor = FinishNow(context, released.status());
  if (released.ok()) {
    for (const std::function<void()>& resume : *released) resume();
  }
  return reactor;
}

}  // namespace weir::server
