#include "proto/control_client.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/limits.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace weir {
namespace {

constexpr int kTriesMax = 8;
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(25);
constexpr size_t kEvaluationRowsPerCall = kCallBytesTarget / (sizeof(float) + 1);

uint64_t RandomIncarnation() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) | 1;  // never 0, which stands for "none"
}

// One thread's call under way, so that another thread can end it.
class Cancellation {
 public:
  void Enter(grpc::ClientContext* context) {
    MutexLock lock(&mu_);
    context_ = context;
    if (requested_ && context_ != nullptr) context_->TryCancel();
  }
  void Exit() {
    MutexLock lock(&mu_);
    context_ = nullptr;
  }
  void Request() {
    MutexLock lock(&mu_);
    requested_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }

 private:
  Mutex mu_;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool requested_ ABSL_GUARDED_BY(mu_) = false;
};

class GrpcControlClient final : public ControlClient {
 public:
  explicit GrpcControlClient(Options options)
      : options_(std::move(options)),
        peer_(absl::StrCat("coordinator at ", options_.coordinator)),
        incarnation_(RandomIncarnation()),
        stub_(ControlService::NewStub(OpenChannel(options_.coordinator, Edge::kNotCounted))) {}

  ~GrpcControlClient() override { EndHeartbeats(); }

  absl::Status Register();

  uint32_t index() const override { return index_; }
  uint64_t incarnation() const override { return incarnation_; }
  const Job& job() const override { return job_; }
  uint64_t job_hash() const override { return job_hash_; }
  const std::string& checkpoint_dir() const override { return checkpoint_dir_; }
  const std::string& resume_dir() const override { return resume_dir_; }
  const ShardMap& shard_map() const override { return shard_map_; }

  void StartHeartbeats(absl::Duration period, std::function<WorkerProgress()> progress,
                       std::function<void(HeartbeatReply::Instruction, std::string)> instructed) override;
  absl::Status PutValue(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::vector<std::string>> GetValues(const std::vector<std::string>& keys, absl::Duration timeout) override;
  absl::StatusOr<NextRangeReply> NextRange(NextRangeRequest::Set set) override;
  absl::Status Barrier(absl::string_view name, absl::Duration timeout) override;
  absl::StatusOr<PauseDueReply> PauseDue(int64_t step) override;
  absl::StatusOr<AwaitShardMapReply> AwaitShardMap(int64_t step) override;
  absl::Status SaveCheckpoint(SaveCheckpointRequest request) override;
  absl::Status CheckpointWritten(int64_t step) override;
  absl::Status ReportEvaluation(absl::Span<const float> scores, absl::Span<const uint8_t> labels) override;
  absl::Status Leave(LeaveRequest request) override;
  absl::Status Stop(absl::string_view reason) override;

 private:
  template <typename Request, typename Reply>
  using Method = grpc::Status (ControlService::StubInterface::*)(grpc::ClientContext*, const Request&, Reply*);

  // Tries until `deadline`; only UNAVAILABLE is tried again, with back-off.
  template <typename Request, typename Reply>
  absl::Status Call(Method<Request, Reply> method, const Request& request, Reply* reply, absl::Time deadline);
  template <typename Request, typename Reply>
  absl::Status Call(Method<Request, Reply> method, const Request& request, Reply* reply) {
    return Call(method, request, reply, absl::Now() + options_.timeout);
  }

  void HeartbeatLoop();
  // The next heartbeat, or again the one that was not acknowledged: its window must not get lost, nor count twice.
  const HeartbeatRequest& PendingHeartbeat();
  absl::StatusOr<HeartbeatReply> SendHeartbeat(absl::Time deadline);
  // What was trained since the last acknowledged heartbeat. REQUIRES: the heartbeat thread has ended or is the caller.
  absl::Status SendLastProgress(absl::Time deadline);
  // Waits for the thread unless it is the caller.
  void EndHeartbeats();

  // Constant after Register.
  const Options options_;
  const std::string peer_;
  const uint64_t incarnation_;
  const std::unique_ptr<ControlService::Stub> stub_;
  uint32_t index_ = 0;
  Job job_;
  uint64_t job_hash_ = 0;
  std::string checkpoint_dir_;
  std::string resume_dir_;
  ShardMap shard_map_;
  absl::Duration stall_timeout_;

  // Numbered requests: the next number goes out only after the last was answered, so a failed call may be made again. The lock is held over
  // the call, which ends at its deadline.
  Mutex range_mu_;
  uint64_t range_requests_[NextRangeRequest::Set_ARRAYSIZE] ABSL_GUARDED_BY(range_mu_) = {};
  Mutex evaluation_mu_;
  uint64_t evaluation_requests_ ABSL_GUARDED_BY(evaluation_mu_) = 0;

  // Set by StartHeartbeats, then used by the heartbeat thread, and by Leave after it has ended.
  absl::Duration period_;
  std::function<WorkerProgress()> progress_;
  std::function<void(HeartbeatReply::Instruction, std::string)> instructed_;
  HeartbeatRequest heartbeat_;
  bool heartbeat_pending_ = false;
  uint64_t sequence_ = 0;
  Cancellation cancellation_;
  Mutex mu_;
  CondVar ending_changed_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread heartbeats_ ABSL_GUARDED_BY(mu_);
};

template <typename Request, typename Reply>
absl::Status GrpcControlClient::Call(Method<Request, Reply> method, const Request& request, Reply* reply, absl::Time deadline) {
  absl::Duration backoff = kFirstBackoff;
  for (int tries = 1;; ++tries) {
    grpc::ClientContext context;
    SetDeadline(&context, deadline);
    const grpc::Status status = (stub_.get()->*method)(&context, request, reply);
    if (status.ok()) return absl::OkStatus();
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || tries == kTriesMax || absl::Now() + backoff >= deadline) {
      return FromGrpc(status, peer_);
    }
    absl::SleepFor(backoff);
    backoff *= 2;
  }
}

absl::Status GrpcControlClient::Register() {
  RegisterRequest request;
  request.set_role(options_.role);
  request.set_protocol_version(kProtocolVersion);
  request.set_address(options_.address);
  request.set_pid(getpid());
  request.set_incarnation(incarnation_);
  request.set_rejoin(options_.rejoin.has_value());
  request.set_index(options_.rejoin.value_or(0));
  RegisterReply reply;
  WEIR_RETURN_IF_ERROR(Call(&ControlService::StubInterface::Register, request, &reply));
  index_ = reply.index();
  job_hash_ = reply.job_hash();
  checkpoint_dir_ = reply.checkpoint_dir();
  resume_dir_ = reply.resume_dir();
  shard_map_ = reply.shard_map();
  if (!job_.ParseFromString(reply.job())) return absl::InternalError(absl::StrCat(peer_, " sent a job that cannot be parsed"));
  stall_timeout_ = absl::Seconds(job_.cluster().stall_timeout_seconds());
  return absl::OkStatus();
}

void GrpcControlClient::StartHeartbeats(absl::Duration period, std::function<WorkerProgress()> progress,
                                        std::function<void(HeartbeatReply::Instruction, std::string)> instructed) {
  period_ = period;
  progress_ = std::move(progress);
  instructed_ = std::move(instructed);
  MutexLock lock(&mu_);  // the thread may ask at once whether it is itself
  heartbeats_ = std::thread([this] { HeartbeatLoop(); });
}

const HeartbeatRequest& GrpcControlClient::PendingHeartbeat() {
  if (!heartbeat_pending_) {
    heartbeat_.Clear();
    heartbeat_.set_role(options_.role);
    heartbeat_.set_index(index_);
    heartbeat_.set_incarnation(incarnation_);
    heartbeat_.set_sequence(++sequence_);
    if (progress_ != nullptr) *heartbeat_.mutable_progress() = progress_();
    heartbeat_pending_ = true;
  }
  return heartbeat_;
}

absl::StatusOr<HeartbeatReply> GrpcControlClient::SendHeartbeat(absl::Time deadline) {
  const HeartbeatRequest& request = PendingHeartbeat();
  grpc::ClientContext context;
  SetDeadline(&context, deadline);
  HeartbeatReply reply;
  cancellation_.Enter(&context);
  const grpc::Status status = stub_->Heartbeat(&context, request, &reply);
  cancellation_.Exit();
  if (!status.ok()) return FromGrpc(status, peer_);
  heartbeat_pending_ = false;
  return reply;
}

void GrpcControlClient::HeartbeatLoop() {
  absl::Time heard = absl::Now();
  while (true) {
    const absl::StatusOr<HeartbeatReply> reply = SendHeartbeat(heard + stall_timeout_);
    {
      MutexLock lock(&mu_);
      if (ending_) return;
    }
    const absl::Time now = absl::Now();
    if (reply.ok()) {
      heard = now;
      if (reply->instruction() == HeartbeatReply::INSTRUCTION_LEAVE || reply->instruction() == HeartbeatReply::INSTRUCTION_ABORT) {
        instructed_(reply->instruction(), reply->reason());
        return;
      }
    } else if (now - heard >= stall_timeout_) {
      instructed_(HeartbeatReply::INSTRUCTION_ABORT,
                  absl::StrCat(peer_, " has been silent for ", absl::FormatDuration(absl::Trunc(now - heard, absl::Milliseconds(100))),
                               " (cluster.stall_timeout_seconds): ", reply.status().message()));
      return;
    } else if (!absl::IsUnavailable(reply.status()) && !absl::IsDeadlineExceeded(reply.status())) {
      instructed_(HeartbeatReply::INSTRUCTION_ABORT, std::string(reply.status().message()));
      return;
    }
    MutexLock lock(&mu_);
    if (ending_changed_.WaitUntil(&mu_, now + period_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ending_; })) return;
  }
}

void GrpcControlClient::EndHeartbeats() {
  std::thread ended;
  {
    MutexLock lock(&mu_);
    ending_ = true;
    ending_changed_.NotifyAll();
    if (heartbeats_.get_id() != std::this_thread::get_id()) ended = std::move(heartbeats_);
  }
  if (!ended.joinable()) return;
  cancellation_.Request();
  ended.join();
}

absl::Status GrpcControlClient::PutValue(absl::string_view key, absl::string_view value) {
  PutValueRequest request;
  request.set_key(std::string(key));
  request.set_value(std::string(value));
  PutValueReply reply;
  return Call(&ControlService::StubInterface::PutValue, request, &reply);
}

absl::StatusOr<std::vector<std::string>> GrpcControlClient::GetValues(const std::vector<std::string>& keys, absl::Duration timeout) {
  GetValuesRequest request;
  for (const std::string& key : keys) request.add_keys(key);
  GetValuesReply reply;
  WEIR_RETURN_IF_ERROR(Call(&ControlService::StubInterface::GetValues, request, &reply, absl::Now() + timeout));
  if (static_cast<size_t>(reply.values_size()) != keys.size()) {
    return absl::InternalError(absl::StrCat(peer_, " answered ", reply.values_size(), " values for ", keys.size(), " keys"));
  }
  return std::vector<std::string>(reply.values().begin(), reply.values().end());
}

absl::StatusOr<NextRangeReply> GrpcControlClient::NextRange(NextRangeRequest::Set set) {
  MutexLock lock(&range_mu_);
  NextRangeRequest request;
  request.set_worker_rank(index_);
  request.set_set(set);
  request.set_request(range_requests_[set]);
  NextRangeReply reply;
  WEIR_RETURN_IF_ERROR(Call(&ControlService::StubInterface::NextRange, request, &reply));
  ++range_requests_[set];
  return reply;
}

absl::StatusOr<PauseDueReply> GrpcControlClient::PauseDue(int64_t step) {
  PauseDueRequest request;
  request.set_worker_rank(index_);
  request.set_step(step);
  PauseDueReply reply;
  WEIR_RETURN_IF_ERROR(Call(&ControlService::StubInterface::PauseDue, request, &reply));
  return reply;
}

absl::StatusOr<AwaitShardMapReply> GrpcControlClient::AwaitShardMap(int64_t step) {
  AwaitShardMapRequest request;
  request.set_worker_rank(index_);
  request.set_step(step);
  AwaitShardMapReply reply;
  WEIR_RETURN_IF_ERROR(Call(&ControlService::StubInterface::AwaitShardMap, request, &reply, absl::Now() + kCheckpointTimeout));
  return reply;
}

absl::Status GrpcControlClient::SaveCheckpoint(SaveCheckpointRequest request) {
  request.set_worker_rank(index_);
  SaveCheckpointReply reply;
  return Call(&ControlService::StubInterface::SaveCheckpoint, request, &reply, absl::Now() + kCheckpointTimeout);
}

absl::Status GrpcControlClient::CheckpointWritten(int64_t step) {
  CheckpointWrittenRequest request;
  request.set_worker_rank(index_);
  request.set_step(step);
  CheckpointWrittenReply reply;
  return Call(&ControlService::StubInterface::CheckpointWritten, request, &reply);
}

absl::Status GrpcControlClient::Barrier(absl::string_view name, absl::Duration timeout) {
  BarrierRequest request;
  request.set_name(std::string(name));
  request.set_worker_rank(index_);
  BarrierReply reply;
  return Call(&ControlService::StubInterface::Barrier, request, &reply, absl::Now() + timeout);
}

absl::Status GrpcControlClient::ReportEvaluation(absl::Span<const float> scores, absl::Span<const uint8_t> labels) {
  if (scores.size() != labels.size()) {
    return absl::InvalidArgumentError(absl::StrCat("ReportEvaluation: ", scores.size(), " scores with ", labels.size(), " labels"));
  }
  MutexLock lock(&evaluation_mu_);
  for (size_t first = 0; first < scores.size(); first += kEvaluationRowsPerCall) {
    const size_t count = std::min(kEvaluationRowsPerCall, scores.size() - first);
    ReportEvaluationRequest request;
    request.set_worker_rank(index_);
    request.set_request(evaluation_requests_);
    request.mutable_scores()->Add(scores.data() + first, scores.data() + first + count);
    request.set_labels(std::string(labels.begin() + first, labels.begin() + first + count));
    ReportEvaluationReply reply;
    WEIR_RETURN_IF_ERROR(Call(&ControlService::StubInterface::ReportEvaluation, request, &reply));
    ++evaluation_requests_;
  }
  return absl::OkStatus();
}

absl::Status GrpcControlClient::SendLastProgress(absl::Time deadline) {
  if (progress_ == nullptr) return absl::OkStatus();
  for (int left = heartbeat_pending_ ? 2 : 1; left > 0; --left) {
    HeartbeatReply reply;
    WEIR_RETURN_IF_ERROR(Call(&ControlService::StubInterface::Heartbeat, PendingHeartbeat(), &reply, deadline));
    heartbeat_pending_ = false;
  }
  return absl::OkStatus();
}

absl::Status GrpcControlClient::Leave(LeaveRequest request) {
  EndHeartbeats();
  const absl::Time deadline = absl::Now() + options_.timeout;
  WEIR_RETURN_IF_ERROR(SendLastProgress(deadline));
  request.set_role(options_.role);
  request.set_index(index_);
  request.set_incarnation(incarnation_);
  LeaveReply reply;
  return Call(&ControlService::StubInterface::Leave, request, &reply, deadline);
}

absl::Status GrpcControlClient::Stop(absl::string_view reason) {
  StopRequest request;
  request.set_reason(std::string(reason));
  StopReply reply;
  return Call(&ControlService::StubInterface::Stop, request, &reply);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlClient>> ControlClient::Join(const Options& options) {
  if (options.role != ROLE_SERVER && options.role != ROLE_WORKER) return absl::InvalidArgumentError("Join: no role was given");
  auto client = std::make_unique<GrpcControlClient>(options);
  WEIR_RETURN_IF_ERROR(client->Register());
  return client;
}

WireBytes ToWireBytes(const EdgeBytes& bytes) {
  WireBytes wire;
  wire.set_lookup_request(bytes.lookup_request);
  wire.set_lookup_reply(bytes.lookup_reply);
  wire.set_push(bytes.push);
  wire.set_dense(bytes.dense);
  wire.set_control(bytes.control);
  return wire;
}

EdgeBytes FromWireBytes(const WireBytes& wire) {
  EdgeBytes bytes;
  bytes.lookup_request = wire.lookup_request();
  bytes.lookup_reply = wire.lookup_reply();
  bytes.push = wire.push();
  bytes.dense = wire.dense();
  bytes.control = wire.control();
  return bytes;
}

std::string ServerAddressKey(uint32_t server_index) { return absl::StrCat("server/", server_index, "/address"); }

std::string PeerAddressKey(uint32_t worker_rank) { return absl::StrCat("worker/", worker_rank, "/peer_address"); }

}  // namespace weir
