// The coordinator's state: who belongs to the job, how far it is, and when it has ended.
//
//   STARTING -> TRAINING    every process has registered, and a worker asks for its first rows
//   TRAINING -> EVALUATING  a worker asks for held-out rows or reports predictions, or all say that they evaluate
//   -> DONE                 every worker has left, then (told by their heartbeats) every server; the results are written
//   -> FAILED               Stop; a process silent for cluster.stall_timeout_seconds; a server that left early; dense parameters that
//   differ
//                           between workers; a run folder that cannot be written; not everybody there within kStartTimeout
// Once FAILED, calls answer ABORTED with the reason, heartbeats answer ABORT, and waiting calls are released. Only GetStatus still answers.
//
// No thread, no clock and no gRPC in here: time is an argument, and one caller calls Tick some twenty times a second.
#ifndef WEIR_SERVER_COORDINATOR_COORDINATOR_H_
#define WEIR_SERVER_COORDINATOR_COORDINATOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"
#include "proto/shard_map.h"
#include "server/coordinator/barriers.h"
#include "server/coordinator/evaluation.h"
#include "server/coordinator/membership.h"
#include "server/coordinator/run_recorder.h"
#include "server/coordinator/run_totals.h"
#include "server/coordinator/value_store.h"
#include "server/coordinator/waiting_call.h"

namespace weir::server {

// Everybody registers and training begins within this.
inline constexpr absl::Duration kStartTimeout = absl::Minutes(10);
// How long an ended job waits for the others to hear of it.
inline constexpr absl::Duration kFarewell = absl::Seconds(2);

// Thread-safe. Errors are as proto/control_service.proto says.
class Coordinator {
 public:
  struct Options {
    Job job;  // validated, all defaults set
    uint64_t job_hash = 0;
    RunRecorder* recorder = nullptr;                 // used by Tick alone; outlives the coordinator
    std::function<uint64_t()> train_rows;            // of all epochs; 0: not known yet
    std::function<uint64_t()> control_bytes;         // counted so far in this process
    std::string checkpoint_dir;                      // where checkpoints are saved; empty: none are
    std::string resume_dir;                          // the checkpoint that the job goes on from; empty: none
    std::function<std::string()> latest_checkpoint;  // of this job so far, or resume_dir; may be null without checkpoints
    double seconds_before = 0;                       // of training, up to that checkpoint
    std::function<ShardMap()> shard_map;             // of now; null: that of the job
    std::function<bool()> rejoin_possible;           // a killed server can come back alone; null: never
  };
  Coordinator(Options options, absl::Time now);

  absl::StatusOr<RegisterReply> Register(const RegisterRequest& request, absl::Time now);
  absl::StatusOr<HeartbeatReply> Heartbeat(const HeartbeatRequest& request, absl::Time now);
  absl::Status PutValue(const PutValueRequest& request);
  // `reply` lives until the call is answered.
  void GetValues(const GetValuesRequest& request, GetValuesReply* reply, WaitingCall call);
  // May this worker have a range now? Notes that training, or evaluation, has begun.
  absl::Status AdmitRange(const NextRangeRequest& request, absl::Time now);
  // May this worker ask about checkpoints now?
  absl::Status AdmitWorker(uint32_t rank);
  void Barrier(const BarrierRequest& request, WaitingCall call);
  absl::Status ReportEvaluation(const ReportEvaluationRequest& request, absl::Time now);
  absl::Status Leave(const LeaveRequest& request, absl::Time now);
  StatusReply GetStatus(absl::Time now);
  // Of the servers that have registered, by index; retired ones left out.
  std::vector<std::string> ServerAddresses() const;

  // May the job get another number of servers now? FAILED_PRECONDITION: it does not train, or one that it gave up is still there.
  absl::Status AdmitResize() const;
  // It is about to have `servers` of them: new ones may register.
  void BeginResize(uint32_t servers);
  // It has that many, and the others may leave.
  void EndResize(uint32_t servers);
  // Of training so far, in all lives of the job.
  double TrainSeconds(absl::Time now) const;
  // Ends the job as failed; the first reason stands, and a job that is done stays so.
  void Fail(absl::string_view reason, absl::Time now);

  // What time brings: silence, deadlines, lines of metrics, results. One thread.
  void Tick(absl::Time now);

  struct Ending {
    absl::Status status;  // of the job; not OK: why it failed
    bool told = false;    // every process that is still in the job has been told
    bool heard = false;   // and somebody has asked for the status, or kFarewell has passed: nothing keeps the process
  };
  // Empty while the job runs.
  std::optional<Ending> ending(absl::Time now) const;

 private:
  ShardMap shard_map() const;
  absl::Status Refusal() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  double SecondsOf(absl::Duration training) const { return options_.seconds_before + absl::ToDoubleSeconds(training); }
  bool Ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FailLocked(absl::string_view reason, absl::Time now, Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(StatusReply::State state, absl::Time now, Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckSilence(absl::Time now, Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginTraining(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndTraining(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeaveLocked(const LeaveRequest& request, Member* member, absl::Time now, Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  WireBytes AllWireBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  WireBytes EvaluationWireBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  MetricsLine TakeLine(double seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  JobResult Result() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Writes the line that is due, and the results when everybody has left.
  absl::Status Record(absl::Time now);
  absl::Status Finish(absl::Time now);

  const Options options_;
  const std::string serialized_job_;
  const absl::Duration stall_timeout_;
  const absl::Time began_;

  mutable Mutex mu_;
  StatusReply::State state_ ABSL_GUARDED_BY(mu_) = StatusReply::STATE_STARTING;
  std::string reason_ ABSL_GUARDED_BY(mu_);  // why it failed
  absl::Time ended_ ABSL_GUARDED_BY(mu_);
  bool ending_seen_ ABSL_GUARDED_BY(mu_) = false;  // by a call of GetStatus
  Membership membership_ ABSL_GUARDED_BY(mu_);
  ValueStore values_ ABSL_GUARDED_BY(mu_);
  Barriers barriers_ ABSL_GUARDED_BY(mu_);
  RunTotals totals_ ABSL_GUARDED_BY(mu_);
  Evaluation evaluation_ ABSL_GUARDED_BY(mu_);  // empty again once everybody has left
  uint64_t evaluated_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time training_began_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::Time training_ended_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  uint64_t training_control_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // when training ended
  absl::Time line_due_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  double line_seconds_ ABSL_GUARDED_BY(mu_) = 0;      // of the last line
  absl::Time line_last_window_ ABSL_GUARDED_BY(mu_);  // arrival of the last window of the last line; before the first: training began
  uint64_t rows_fingerprint_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t rows_held_ ABSL_GUARDED_BY(mu_) = 0;
  struct DenseFingerprint {
    uint32_t rank = 0;
    uint64_t value = 0;
  };
  std::optional<DenseFingerprint> dense_fingerprint_ ABSL_GUARDED_BY(mu_);  // of the first worker that left
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_COORDINATOR_H_
