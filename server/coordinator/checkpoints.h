// Saves checkpoints of the job: gathers the workers at a step and lets every server freeze its rows. Then the workers go on, while the
// servers save what is frozen; at last the manifest is written.
#ifndef WEIR_SERVER_COORDINATOR_CHECKPOINTS_H_
#define WEIR_SERVER_COORDINATOR_CHECKPOINTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "proto/checkpoint.pb.h"
#include "proto/checkpoint_schedule.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"
#include "server/coordinator/range_planner.h"
#include "server/coordinator/server_calls.h"

namespace weir::server {

// Thread-safe. Writes and waits for servers on a thread of its own.
class Checkpoints {
 public:
  struct Options {
    Job job;
    uint64_t job_hash = 0;
    std::string dir;     // empty: the job has none
    std::string latest;  // that the job goes on from; empty: none
    int64_t latest_step = 0;
    RangePlanner* planner = nullptr;
    std::function<std::vector<std::string>()> servers;  // addresses, by index, of those that take part in steps
    std::function<uint32_t()> server_count;             // how many servers the job is to go on with
    std::function<void()> saved;                        // told, on the object's thread, of each checkpoint that became whole
    std::function<double()> train_seconds;              // so far, in all lives of the job
    std::function<void(const absl::Status&)> failed;    // told, on the object's thread, why a checkpoint could not be saved after all
  };
  Checkpoints(Options options, absl::Time now);
  // As Stop.
  ~Checkpoints();

  // Answers the part of ControlService.PauseDue: whoever asks first about a step decides it for all.
  bool Due(int64_t step, absl::Time now);

  // Answers ControlService.SaveCheckpoint: `finish` is called once, when the workers may go on or the checkpoint cannot be saved.
  // INVALID_ARGUMENT: a rank that does not exist, a job without checkpoints. A repeated request replaces the one before.
  void Save(const SaveCheckpointRequest& request, std::function<void(const absl::Status&)> finish);

  // Answers ControlService.CheckpointWritten.
  void Written(uint32_t rank, int64_t step);

  // Waits until no checkpoint is being saved. DEADLINE_EXCEEDED: not within `time`.
  absl::Status WaitUntilIdle(absl::Duration time);

  // Folder of the last checkpoint that became whole.
  std::string latest() const;

  // Answers who waits, and later ones, with CANCELLED, after the writing under way.
  void Stop();

 private:
  struct Part {
    SaveCheckpointRequest request;
    std::function<void(const absl::Status&)> finish;
  };
  using Parts = std::map<uint32_t, Part>;  // by rank

  void SaveLoop();
  // Writes the checkpoint, and answers the workers in between.
  void Write(int64_t step, const Parts& parts);
  absl::StatusOr<CheckpointManifest> Freeze(int64_t step, const Parts& parts);
  absl::Status SaveFrozen(CheckpointManifest* manifest);
  absl::Status WaitUntilWritten(int64_t step);
  absl::Status CallAllServers(const ServerCall& call);
  bool StopsWithin(absl::Duration time);

  const Options options_;
  const CheckpointSchedule schedule_;
  mutable Mutex mu_;
  CondVar changed_;
  std::map<int64_t, Parts> gathering_ ABSL_GUARDED_BY(mu_);             // by step
  std::map<int64_t, std::set<uint32_t>> written_ ABSL_GUARDED_BY(mu_);  // ranks by step
  std::map<int64_t, bool> due_ ABSL_GUARDED_BY(mu_);                    // answers, the last kAnswersMax
  std::string latest_ ABSL_GUARDED_BY(mu_);
  int64_t latest_step_ = 0;  // of latest_; the object's thread alone uses it
  absl::Time last_due_ ABSL_GUARDED_BY(mu_);
  bool saving_now_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread saving_;  // started last
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_CHECKPOINTS_H_
