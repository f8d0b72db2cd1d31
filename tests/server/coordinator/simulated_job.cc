#include "tests/server/coordinator/simulated_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/binary_metrics.h"
#include "base/limits.h"
#include "gtest/gtest.h"

namespace weir::testing {
namespace {

Job SmallJob() {
  Job job;
  job.set_name("small");
  job.mutable_training()->set_batch_size(100);
  job.mutable_training()->set_steps_max(30);
  job.mutable_cluster()->set_servers(2);
  job.mutable_cluster()->set_workers(2);
  job.mutable_cluster()->set_stall_timeout_seconds(10);
  job.mutable_output()->set_metrics_every_seconds(2);
  return job;
}

uint64_t IncarnationOf(Role role, uint32_t index) { return (role == ROLE_SERVER ? 100 : 200) + index; }

}  // namespace

SimulatedJob::SimulatedJob(const std::string& folder, absl::Time start) : dir(folder), now(start) {
  absl::StatusOr<std::unique_ptr<server::RunRecorder>> created = server::RunRecorder::Create(dir, now);
  EXPECT_TRUE(created.ok()) << created.status();
  recorder = *std::move(created);
  server::Coordinator::Options options;
  options.job = SmallJob();
  options.job_hash = 0xabc;
  options.recorder = recorder.get();
  options.train_rows = [this] { return train_rows; };
  options.control_bytes = [this] { return control_bytes; };
  coordinator = std::make_unique<server::Coordinator>(std::move(options), now);
}

absl::StatusOr<RegisterReply> SimulatedJob::Register(Role role, uint64_t incarnation) {
  RegisterRequest request;
  request.set_role(role);
  request.set_protocol_version(kProtocolVersion);
  request.set_address(absl::StrCat("127.0.0.1:", 4000 + incarnation));
  request.set_pid(static_cast<int64_t>(incarnation));
  request.set_incarnation(incarnation);
  return coordinator->Register(request, now);
}

void SimulatedJob::RegisterAll() {
  for (const Role role : {ROLE_SERVER, ROLE_WORKER}) {
    for (uint32_t index = 0; index < 2; ++index) {
      const absl::StatusOr<RegisterReply> reply = Register(role, IncarnationOf(role, index));
      ASSERT_TRUE(reply.ok()) << reply.status();
      ASSERT_EQ(reply->index(), index);
    }
  }
}

HeartbeatRequest SimulatedJob::BeatOf(Role role, uint32_t index) {
  HeartbeatRequest request;
  request.set_role(role);
  request.set_index(index);
  request.set_incarnation(IncarnationOf(role, index));
  request.set_sequence(++sequence_);
  return request;
}

HeartbeatReply SimulatedJob::Beat(const HeartbeatRequest& request) {
  absl::StatusOr<HeartbeatReply> reply = coordinator->Heartbeat(request, now);
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? *reply : HeartbeatReply();
}

HeartbeatReply SimulatedJob::Beat(Role role, uint32_t index) { return Beat(BeatOf(role, index)); }

HeartbeatRequest SimulatedJob::TrainBeatOf(uint32_t rank, uint64_t samples, double logloss) {
  HeartbeatRequest request = BeatOf(ROLE_WORKER, rank);
  WorkerProgress& progress = *request.mutable_progress();
  progress.set_phase(WorkerProgress::PHASE_TRAINING);
  progress.set_samples(samples);
  progress.set_steps(static_cast<int64_t>(samples) / 50);
  progress.mutable_window()->set_samples(samples);
  progress.mutable_window()->set_logloss_sum(logloss * static_cast<double>(samples));
  progress.mutable_window()->mutable_positives()->Resize(kScoreBins, 1);
  progress.mutable_window()->mutable_negatives()->Resize(kScoreBins, 1);
  progress.mutable_wire_bytes()->set_push(1000);
  return request;
}

void SimulatedJob::BeatAll() {
  for (const Role role : {ROLE_SERVER, ROLE_WORKER}) {
    for (uint32_t index = 0; index < 2; ++index) Beat(role, index);
  }
}

absl::Status SimulatedJob::AskRange(uint32_t rank, NextRangeRequest::Set set) {
  NextRangeRequest request;
  request.set_worker_rank(rank);
  request.set_set(set);
  return coordinator->AdmitRange(request, now);
}

absl::Status SimulatedJob::Report(uint32_t rank, uint64_t number) {
  ReportEvaluationRequest request;
  request.set_worker_rank(rank);
  request.set_request(number);
  request.add_scores(0.25f);
  request.add_scores(0.75f);
  request.set_labels(std::string("\0\1", 2));
  return coordinator->ReportEvaluation(request, now);
}

LeaveRequest SimulatedJob::LeaveOf(Role role, uint32_t index) {
  LeaveRequest request;
  request.set_role(role);
  request.set_index(index);
  request.set_incarnation(IncarnationOf(role, index));
  if (role == ROLE_SERVER) {
    request.set_fingerprint(0x8000000000000001);
    request.set_rows(40 + index);
    return request;
  }
  request.set_fingerprint(0xd);
  request.set_samples(100);
  request.set_train_seconds(3 + index);
  request.set_bad_rows(1);
  request.set_wait_seconds(0.5);
  request.mutable_wire_bytes()->set_lookup_request(11);
  request.mutable_wire_bytes()->set_lookup_reply(22);
  request.mutable_wire_bytes()->set_push(1000);
  request.mutable_wire_bytes()->set_dense(44);
  request.mutable_wire_bytes_evaluation()->set_lookup_reply(2);
  return request;
}

}  // namespace weir::testing
