// A job without processes: a coordinator on a clock that the test turns, and the calls that the processes would make.
#ifndef WEIR_TESTS_SERVER_COORDINATOR_SIMULATED_JOB_H_
#define WEIR_TESTS_SERVER_COORDINATOR_SIMULATED_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/control_service.pb.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/run_recorder.h"

namespace weir::testing {

// 2 servers and 2 workers, stall_timeout_seconds 10, metrics_every_seconds 2, 30 steps of
// 100 samples at most, job hash 0xabc. Single-threaded.
class SimulatedJob {
 public:
  explicit SimulatedJob(const std::string& dir, absl::Time start = absl::FromUnixSeconds(1000000));

  void Advance(absl::Duration by) { now += by; }
  absl::StatusOr<RegisterReply> Register(Role role, uint64_t incarnation);
  // Servers get incarnations 100 and 101, workers 200 and 201.
  void RegisterAll();

  HeartbeatRequest BeatOf(Role role, uint32_t index);  // the next in sequence
  HeartbeatReply Beat(Role role, uint32_t index);
  // A worker's heartbeat in PHASE_TRAINING with a window of `samples`, each with this log-loss.
  HeartbeatRequest TrainBeatOf(uint32_t rank, uint64_t samples, double logloss);
  HeartbeatReply Beat(const HeartbeatRequest& request);
  void BeatAll();

  absl::Status AskRange(uint32_t rank, NextRangeRequest::Set set);
  // Rows: (score, label) = (0.25, 0), (0.75, 1).
  absl::Status Report(uint32_t rank, uint64_t request);
  LeaveRequest LeaveOf(Role role, uint32_t index);
  absl::Status Leave(const LeaveRequest& request) { return coordinator->Leave(request, now); }
  StatusReply GetStatus() { return coordinator->GetStatus(now); }
  void Tick() { coordinator->Tick(now); }

  const std::string dir;
  absl::Time now;
  uint64_t train_rows = 0;
  uint64_t control_bytes = 0;
  std::unique_ptr<server::RunRecorder> recorder;
  std::unique_ptr<server::Coordinator> coordinator;

 private:
  uint64_t sequence_ = 0;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_SERVER_COORDINATOR_SIMULATED_JOB_H_
