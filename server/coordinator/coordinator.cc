#include "server/coordinator/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace weir::server {
namespace {

constexpr size_t kReasonBytesMax = 4096;

uint32_t ServersOf(const Job& job) { return job.cluster().servers(); }
uint32_t WorkersOf(const Job& job) { return job.cluster().workers(); }

}  // namespace

Coordinator::Coordinator(Options options, absl::Time now)
    : options_(std::move(options)),
      serialized_job_(options_.job.SerializeAsString()),
      stall_timeout_(absl::Seconds(options_.job.cluster().stall_timeout_seconds())),
      began_(now),
      membership_({ServersOf(options_.job), WorkersOf(options_.job)}),
      barriers_(WorkersOf(options_.job)),
      totals_(WorkersOf(options_.job)),
      evaluation_(WorkersOf(options_.job)) {}

absl::Status Coordinator::Refusal() const {
  if (state_ == StatusReply::STATE_FAILED) return absl::AbortedError(absl::StrCat("the job has failed: ", reason_));
  if (state_ == StatusReply::STATE_DONE) return absl::AbortedError("the job is done");
  return absl::OkStatus();
}

bool Coordinator::Ended() const { return state_ == StatusReply::STATE_FAILED || state_ == StatusReply::STATE_DONE; }

ShardMap Coordinator::shard_map() const {
  return options_.shard_map != nullptr ? options_.shard_map() : MakeShardMap(options_.job.cluster().shards(), ServersOf(options_.job));
}

absl::StatusOr<RegisterReply> Coordinator::Register(const RegisterRequest& request, absl::Time now) {
  MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(Refusal());
  if (request.rejoin() && (options_.rejoin_possible == nullptr || !options_.rejoin_possible())) {
    return absl::FailedPreconditionError(
        "no server of this job can come back alone now: it has no log of pushes since the last checkpoint, or shards have moved since");
  }
  WEIR_ASSIGN_OR_RETURN(const uint32_t index, membership_.Register(request, now));
  RegisterReply reply;
  reply.set_index(index);
  reply.set_job(serialized_job_);
  reply.set_job_hash(options_.job_hash);
  reply.set_checkpoint_dir(options_.checkpoint_dir);
  *reply.mutable_shard_map() = shard_map();
  if (request.rejoin()) {
    reply.set_resume_dir(options_.latest_checkpoint());
  } else if (state_ == StatusReply::STATE_STARTING) {
    reply.set_resume_dir(options_.resume_dir);  // who comes later gets its rows from other servers
  }
  return reply;
}

absl::StatusOr<HeartbeatReply> Coordinator::Heartbeat(const HeartbeatRequest& request, absl::Time now) {
  MutexLock lock(&mu_);
  WEIR_ASSIGN_OR_RETURN(Member* const member, membership_.Find({request.role(), request.index(), request.incarnation()}));
  member->heard = now;
  HeartbeatReply reply;
  if (state_ == StatusReply::STATE_FAILED) {
    member->told = true;
    reply.set_instruction(HeartbeatReply::INSTRUCTION_ABORT);
    reply.set_reason(reason_);
    return reply;
  }
  if (request.role() == ROLE_WORKER && !member->left) {
    WEIR_RETURN_IF_ERROR(totals_.Add({request.index(), request.sequence(), now}, request.progress()));
    if (request.progress().phase() == WorkerProgress::PHASE_TRAINING) BeginTraining(now);
    if (totals_.AllPastTraining()) EndTraining(now);
  }
  const bool leave = member->left || member->retired || membership_.AllWorkersLeft();
  member->told = member->told || leave;
  reply.set_instruction(leave ? HeartbeatReply::INSTRUCTION_LEAVE : HeartbeatReply::INSTRUCTION_GO_ON);
  return reply;
}

absl::Status Coordinator::PutValue(const PutValueRequest& request) {
  Answers answers;
  absl::Status status;
  {
    MutexLock lock(&mu_);
    status = Refusal();
    if (status.ok()) status = values_.Put(request, &answers);
  }
  answers.Send();
  return status;
}

void Coordinator::GetValues(const GetValuesRequest& request, GetValuesReply* reply, WaitingCall call) {
  Answers answers;
  {
    MutexLock lock(&mu_);
    if (absl::Status refusal = Refusal(); !refusal.ok()) {
      answers.Add(std::move(call), std::move(refusal));
    } else {
      values_.Get(request, reply, std::move(call), &answers);
    }
  }
  answers.Send();
}

absl::Status Coordinator::AdmitRange(const NextRangeRequest& request, absl::Time now) {
  MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(Refusal());
  WEIR_RETURN_IF_ERROR(membership_.CheckWorker(request.worker_rank()));
  if (request.set() == NextRangeRequest::SET_TRAIN) BeginTraining(now);
  if (request.set() == NextRangeRequest::SET_TEST) EndTraining(now);
  return absl::OkStatus();
}

absl::Status Coordinator::AdmitWorker(uint32_t rank) {
  MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(Refusal());
  return membership_.CheckWorker(rank);
}

std::vector<std::string> Coordinator::ServerAddresses() const {
  MutexLock lock(&mu_);
  std::vector<std::string> addresses;
  for (const Member& server : membership_.servers()) {
    if (!server.retired) addresses.push_back(server.address);
  }
  return addresses;
}

absl::Status Coordinator::AdmitResize() const {
  MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(Refusal());
  if (state_ != StatusReply::STATE_TRAINING) {
    return absl::FailedPreconditionError("the job does not train now: shards move between its steps");
  }
  if (const Member* const retiring = membership_.Retiring(); retiring != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(retiring->Describe(), " is still leaving: ask again in a moment"));
  }
  return absl::OkStatus();
}

void Coordinator::BeginResize(uint32_t servers) {
  MutexLock lock(&mu_);
  membership_.SetServerPlaces(std::max(servers, membership_.server_places()));
}

void Coordinator::EndResize(uint32_t servers) {
  MutexLock lock(&mu_);
  membership_.SetServerPlaces(servers);
}

double Coordinator::TrainSeconds(absl::Time now) const {
  MutexLock lock(&mu_);
  return training_began_ <= now ? SecondsOf(std::min(now, training_ended_) - training_began_) : options_.seconds_before;
}

void Coordinator::Barrier(const BarrierRequest& request, WaitingCall call) {
  Answers answers;
  {
    MutexLock lock(&mu_);
    absl::Status refusal = Refusal();
    if (refusal.ok()) refusal = membership_.CheckWorker(request.worker_rank());
    if (refusal.ok()) {
      barriers_.Arrive(request, std::move(call), &answers);
    } else {
      answers.Add(std::move(call), std::move(refusal));
    }
  }
  answers.Send();
}

absl::Status Coordinator::ReportEvaluation(const ReportEvaluationRequest& request, absl::Time now) {
  MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(Refusal());
  WEIR_RETURN_IF_ERROR(membership_.CheckWorker(request.worker_rank()));
  EndTraining(now);
  WEIR_RETURN_IF_ERROR(evaluation_.Add(request));
  evaluated_ = evaluation_.samples();
  return absl::OkStatus();
}

absl::Status Coordinator::Leave(const LeaveRequest& request, absl::Time now) {
  Answers answers;
  absl::Status status;
  {
    MutexLock lock(&mu_);
    const absl::StatusOr<Member*> member = membership_.Find({request.role(), request.index(), request.incarnation()});
    if (!member.ok()) return member.status();
    if ((*member)->left) return absl::OkStatus();
    status = Refusal();
    if (status.ok()) {
      LeaveLocked(request, *member, now, &answers);
      status = Refusal();
    } else {
      (*member)->left = true;
    }
  }
  answers.Send();
  return status;
}

void Coordinator::LeaveLocked(const LeaveRequest& request, Member* member, absl::Time now, Answers* answers) {
  member->left = true;
  if (request.role() == ROLE_SERVER) {
    rows_fingerprint_ += request.fingerprint();
    rows_held_ += request.rows();
    if (!membership_.AllWorkersLeft() && !member->retired)
      FailLocked(absl::StrCat(member->Describe(), " left while workers still needed it"), now, answers);
    return;
  }
  totals_.AddLeave(request);
  if (!dense_fingerprint_.has_value()) {
    dense_fingerprint_ = DenseFingerprint{request.index(), request.fingerprint()};
  } else if (dense_fingerprint_->value != request.fingerprint()) {
    FailLocked(
        absl::StrFormat("the dense parameters of worker %u (fingerprint %016x) differ from those of worker %u (%016x): the workers did not "
                        "apply the same gradients; do all run the same build on the same kind of processor?",
                        request.index(), request.fingerprint(), dense_fingerprint_->rank, dense_fingerprint_->value),
        now, answers);
  }
  if (membership_.AllWorkersLeft()) EndTraining(now);
}

StatusReply Coordinator::GetStatus(absl::Time now) {
  const uint64_t rows = options_.train_rows();
  MutexLock lock(&mu_);
  StatusReply reply;
  reply.set_state(state_);
  reply.set_reason(state_ == StatusReply::STATE_STARTING ? membership_.Waiting() : reason_);
  reply.set_samples(totals_.samples());
  const Training& training = options_.job.training();
  const uint64_t steps_rows = training.steps_max() * training.batch_size();
  reply.set_total_samples(steps_rows > 0 && (rows == 0 || steps_rows < rows) ? steps_rows : rows);
  if (training_began_ <= now) reply.set_seconds(SecondsOf(std::min(now, training_ended_) - training_began_));
  if (totals_.recent().samples() > 0) {
    reply.set_logloss(totals_.recent().logloss());
    reply.set_auc(totals_.recent().auc());
  }
  *reply.mutable_wire_bytes() = AllWireBytes();
  reply.set_evaluated(evaluated_);
  for (const Member& server : membership_.servers()) {
    if (!server.retired) reply.add_servers(server.address);
  }
  reply.set_servers_registered(static_cast<uint32_t>(reply.servers_size()));
  *reply.mutable_shard_map() = shard_map();
  reply.set_servers_wanted(reply.shard_map().servers());
  reply.set_rejoin_possible(options_.rejoin_possible != nullptr && options_.rejoin_possible());
  reply.set_workers_registered(static_cast<uint32_t>(membership_.workers().size()));
  ending_seen_ = ending_seen_ || Ended();
  return reply;
}

void Coordinator::Fail(absl::string_view reason, absl::Time now) {
  Answers answers;
  {
    MutexLock lock(&mu_);
    FailLocked(reason, now, &answers);
  }
  answers.Send();
}

void Coordinator::FailLocked(absl::string_view reason, absl::Time now, Answers* answers) {
  if (Ended()) return;
  reason_ = std::string(reason.empty() ? "no reason was given" : reason.substr(0, kReasonBytesMax));
  End(StatusReply::STATE_FAILED, now, answers);
}

void Coordinator::End(StatusReply::State state, absl::Time now, Answers* answers) {
  state_ = state;
  ended_ = now;
  values_.FailAll(Refusal(), answers);
  barriers_.FailAll(Refusal(), answers);
}

void Coordinator::BeginTraining(absl::Time now) {
  if (state_ != StatusReply::STATE_STARTING || !membership_.complete()) return;
  state_ = StatusReply::STATE_TRAINING;
  training_began_ = now;
  line_seconds_ = options_.seconds_before;
  line_last_window_ = now;
  line_due_ = now + absl::Seconds(options_.job.output().metrics_every_seconds());
}

void Coordinator::EndTraining(absl::Time now) {
  if (state_ == StatusReply::STATE_STARTING) BeginTraining(now);
  if (state_ != StatusReply::STATE_TRAINING) return;
  state_ = StatusReply::STATE_EVALUATING;
  training_ended_ = now;
  training_control_bytes_ = options_.control_bytes();
  line_due_ = absl::InfiniteFuture();
}

void Coordinator::Tick(absl::Time now) {
  Answers answers;
  {
    MutexLock lock(&mu_);
    if (Ended()) return;
    CheckSilence(now, &answers);
    values_.Expire(now, &answers);
    barriers_.Expire(now, &answers);
  }
  answers.Send();
  if (absl::Status status = Record(now); !status.ok()) Fail(status.message(), now);
}

void Coordinator::CheckSilence(absl::Time now, Answers* answers) {
  if (const Member* silent = membership_.Silent(now, stall_timeout_); silent != nullptr) {
    FailLocked(absl::StrCat(silent->Describe(), " has been silent for ",
                            absl::FormatDuration(absl::Trunc(now - silent->heard, absl::Milliseconds(100))),
                            " (cluster.stall_timeout_seconds): it has died, or its machine cannot be reached"),
               now, answers);
  } else if (state_ == StatusReply::STATE_STARTING && now - began_ >= kStartTimeout) {
    FailLocked(absl::StrCat("after ", absl::FormatDuration(kStartTimeout), " training has not begun: ", membership_.Waiting()), now,
               answers);
  }
}

absl::Status Coordinator::Record(absl::Time now) {
  std::optional<MetricsLine> line;
  bool finish = false;
  {
    MutexLock lock(&mu_);
    if (Ended()) return absl::OkStatus();
    if (now >= line_due_ && totals_.line_samples() > 0) {
      line = TakeLine(SecondsOf(now - training_began_));
      line_due_ = now + absl::Seconds(options_.job.output().metrics_every_seconds());
    }
    finish = membership_.AllWorkersLeft() && membership_.AllServersLeft();
  }
  if (line.has_value()) WEIR_RETURN_IF_ERROR(options_.recorder->Append(*line, now));
  return finish ? Finish(now) : absl::OkStatus();
}

absl::Status Coordinator::Finish(absl::Time now) {
  std::optional<MetricsLine> line;
  JobResult result;
  Evaluation evaluation(0);
  {
    MutexLock lock(&mu_);
    if (totals_.line_samples() > 0 || totals_.line_decisions() > 0) {
      line = TakeLine(SecondsOf(training_ended_ - training_began_));
      line->wire_bytes = SubtractWireBytes(line->wire_bytes, EvaluationWireBytes());
    }
    result = Result();
    std::swap(evaluation, evaluation_);
  }
  // The exact figures take a sort, which must not hold up Status calls.
  if (evaluation.samples() > 0) {
    result.quality = evaluation.Quality();
    result.mean_label = evaluation.mean_label();
  }
  if (line.has_value()) WEIR_RETURN_IF_ERROR(options_.recorder->Append(*line, now));
  WEIR_RETURN_IF_ERROR(options_.recorder->Finish(result, now));
  Answers answers;
  {
    MutexLock lock(&mu_);
    if (!Ended()) End(StatusReply::STATE_DONE, now, &answers);
  }
  answers.Send();
  return absl::OkStatus();
}

WireBytes Coordinator::AllWireBytes() const {
  WireBytes bytes = totals_.wire_bytes();
  bytes.set_control(bytes.control() + options_.control_bytes());
  return bytes;
}

WireBytes Coordinator::EvaluationWireBytes() const {
  WireBytes bytes = totals_.wire_bytes_evaluation();
  bytes.set_control(bytes.control() + options_.control_bytes() - training_control_bytes_);
  return bytes;
}

MetricsLine Coordinator::TakeLine(double seconds) {
  MetricsLine line;
  RunTotals::Line taken = totals_.TakeLine();
  line.seconds = std::max(seconds, line_seconds_);
  line.samples = totals_.samples();
  line.steps = totals_.steps();
  line.logloss = taken.quality.logloss();
  line.auc = taken.quality.auc();
  // Windows arrive up to a heartbeat late, so a short last stretch can hold the samples of a longer time.
  const double stretch = std::max(line.seconds - line_seconds_, absl::ToDoubleSeconds(taken.last_window - line_last_window_));
  line.samples_per_second = stretch > 0 ? static_cast<double>(taken.quality.samples()) / stretch : 0;
  line.wire_bytes = AllWireBytes();
  line.codecs = std::move(taken.codecs);
  line.decisions = std::move(taken.decisions);
  line.wait_seconds = totals_.wait_seconds();
  line_seconds_ = line.seconds;
  line_last_window_ = std::max(line_last_window_, taken.last_window);
  return line;
}

JobResult Coordinator::Result() const {
  JobResult result;
  result.job = options_.job.name();
  result.job_hash = options_.job_hash;
  result.samples = totals_.samples();
  result.steps = totals_.steps();
  result.seconds = options_.seconds_before + totals_.train_seconds();
  result.wire_bytes = AllWireBytes();
  result.wire_bytes_evaluation = EvaluationWireBytes();
  result.rows_fingerprint = rows_fingerprint_;
  result.dense_fingerprint = dense_fingerprint_.has_value() ? dense_fingerprint_->value : 0;
  result.rows_held = rows_held_;
  result.bad_rows = totals_.bad_rows();
  result.wait_seconds = totals_.wait_seconds();
  result.codecs = totals_.codecs();
  result.step_seconds = totals_.step_seconds();
  result.step_waits = totals_.step_waits();
  result.workers = WorkersOf(options_.job);
  result.servers = membership_.server_places();
  return result;
}

std::optional<Coordinator::Ending> Coordinator::ending(absl::Time now) const {
  MutexLock lock(&mu_);
  if (!Ended()) return std::nullopt;
  Ending ending;
  if (state_ == StatusReply::STATE_FAILED) ending.status = absl::AbortedError(reason_);
  ending.told = membership_.AllTold();
  ending.heard = (ending_seen_ && ending.told) || now - ended_ >= kFarewell;
  return ending;
}

}  // namespace weir::server
