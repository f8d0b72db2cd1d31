#include "server/coordinator/control_service.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "grpcpp/support/server_callback.h"
#include "proto/control_service.grpc.pb.h"

namespace weir::server {
namespace {

// A call that names no deadline waits for this.
constexpr absl::Duration kWaitMax = absl::Minutes(10);

// A waiting call is answered shortly before its caller gives up, so that the answer (what is missing) arrives.
absl::Time AnswerBy(const grpc::CallbackServerContext& context) {
  const absl::Time now = absl::Now();
  const absl::Duration left = std::min(absl::FromChrono(context.deadline()) - now, kWaitMax);
  return now + left - std::clamp(left / 10, absl::Milliseconds(100), absl::Milliseconds(500));
}

class ControlServiceImpl final : public ControlService::CallbackService {
 public:
  ControlServiceImpl(Coordinator* coordinator, RangeServer* ranges, Checkpoints* checkpoints, ShardMoves* moves)
      : coordinator_(coordinator), ranges_(ranges), checkpoints_(checkpoints), moves_(moves) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context, const RegisterRequest* request, RegisterReply* reply) override {
    return Answer(context, coordinator_->Register(*request, absl::Now()), reply);
  }

  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context, const HeartbeatRequest* request,
                                      HeartbeatReply* reply) override {
    return Answer(context, coordinator_->Heartbeat(*request, absl::Now()), reply);
  }

  grpc::ServerUnaryReactor* PutValue(grpc::CallbackServerContext* context, const PutValueRequest* request, PutValueReply*) override {
    return Answer(context, coordinator_->PutValue(*request));
  }

  grpc::ServerUnaryReactor* GetValues(grpc::CallbackServerContext* context, const GetValuesRequest* request,
                                      GetValuesReply* reply) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    coordinator_->GetValues(*request, reply, {AnswerBy(*context), FinishOf(reactor)});
    return reactor;
  }

  grpc::ServerUnaryReactor* NextRange(grpc::CallbackServerContext* context, const NextRangeRequest* request,
                                      NextRangeReply* reply) override {
    if (const absl::Status status = coordinator_->AdmitRange(*request, absl::Now()); !status.ok()) return Answer(context, status);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    ranges_->Next(*request, reply, FinishOf(reactor));
    return reactor;
  }

  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext* context, const BarrierRequest* request, BarrierReply*) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    coordinator_->Barrier(*request, {AnswerBy(*context), FinishOf(reactor)});
    return reactor;
  }

  grpc::ServerUnaryReactor* PauseDue(grpc::CallbackServerContext* context, const PauseDueRequest* request, PauseDueReply* reply) override {
    const absl::Status admitted = coordinator_->AdmitWorker(request->worker_rank());
    if (admitted.ok()) {
      reply->set_checkpoint(checkpoints_->Due(request->step(), absl::Now()));
      reply->set_resize(moves_->Due(request->step()));
    }
    return Answer(context, admitted);
  }

  grpc::ServerUnaryReactor* AwaitShardMap(grpc::CallbackServerContext* context, const AwaitShardMapRequest* request,
                                          AwaitShardMapReply* reply) override {
    if (const absl::Status status = coordinator_->AdmitWorker(request->worker_rank()); !status.ok()) return Answer(context, status);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    moves_->Await(*request, reply, FinishOf(reactor));
    return reactor;
  }

  grpc::ServerUnaryReactor* Resize(grpc::CallbackServerContext* context, const ResizeRequest* request, ResizeReply*) override {
    absl::Status status = coordinator_->AdmitResize();
    if (status.ok()) status = moves_->Begin(request->servers());
    if (status.ok()) coordinator_->BeginResize(request->servers());
    return Answer(context, status);
  }

  grpc::ServerUnaryReactor* SaveCheckpoint(grpc::CallbackServerContext* context, const SaveCheckpointRequest* request,
                                           SaveCheckpointReply*) override {
    if (const absl::Status status = coordinator_->AdmitWorker(request->worker_rank()); !status.ok()) return Answer(context, status);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    checkpoints_->Save(*request, FinishOf(reactor));
    return reactor;
  }

  grpc::ServerUnaryReactor* CheckpointWritten(grpc::CallbackServerContext* context, const CheckpointWrittenRequest* request,
                                              CheckpointWrittenReply*) override {
    const absl::Status admitted = coordinator_->AdmitWorker(request->worker_rank());
    if (admitted.ok()) checkpoints_->Written(request->worker_rank(), request->step());
    return Answer(context, admitted);
  }

  grpc::ServerUnaryReactor* ReportEvaluation(grpc::CallbackServerContext* context, const ReportEvaluationRequest* request,
                                             ReportEvaluationReply*) override {
    return Answer(context, coordinator_->ReportEvaluation(*request, absl::Now()));
  }

  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context, const LeaveRequest* request, LeaveReply*) override {
    return Answer(context, coordinator_->Leave(*request, absl::Now()));
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const StatusRequest*, StatusReply* reply) override {
    *reply = coordinator_->GetStatus(absl::Now());
    reply->set_servers_wanted(moves_->wanted());
    return Answer(context, absl::OkStatus());
  }

  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context, const StopRequest* request, StopReply*) override {
    coordinator_->Fail(request->reason(), absl::Now());
    return Answer(context, absl::OkStatus());
  }

 private:
  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(status));
    return reactor;
  }

  template <typename Reply>
  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, absl::StatusOr<Reply> answer, Reply* reply) {
    if (answer.ok()) *reply = *std::move(answer);
    return Answer(context, answer.status());
  }

  static std::function<void(const absl::Status&)> FinishOf(grpc::ServerUnaryReactor* reactor) {
    return [reactor](const absl::Status& status) { reactor->Finish(ToGrpc(status)); };
  }

  Coordinator* const coordinator_;
  RangeServer* const ranges_;
  Checkpoints* const checkpoints_;
  ShardMoves* const moves_;
};

}  // namespace

std::unique_ptr<grpc::Service> CreateControlService(Coordinator* coordinator, RangeServer* ranges, Checkpoints* checkpoints,
                                                    ShardMoves* moves) {
  return std::make_unique<ControlServiceImpl>(coordinator, ranges, checkpoints, moves);
}

}  // namespace weir::server
