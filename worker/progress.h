// How far this worker is: written by the training thread, read by the heartbeat thread.
#ifndef WEIR_WORKER_PROGRESS_H_
#define WEIR_WORKER_PROGRESS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "base/state_visitor.h"
#include "client/embedding_bags.h"
#include "proto/control_service.pb.h"

namespace weir::worker {

// Thread-safe.
class Progress {
 public:
  void SetPhase(WorkerProgress::Phase phase);
  // A step is done: predictions (logits) of its samples from before its update.
  void AddStep(absl::Span<const float> logits, absl::Span<const float> labels);
  void AddCodecStats(const std::vector<client::CodecStats>& stats);
  void AddDecision(const GuardDecision& decision);
  // In all.
  void SetStepTimes(const StepSeconds& seconds, const StepWaits& waits);
  void SetBadRows(uint64_t rows);

  // All since the start, and the window, codec figures and decisions since the last call. Each of those is given out once.
  WorkerProgress Take();

  // What was counted in all.
  void VisitState(StateVisitor* state);

  int64_t steps() const;
  WireBytes wire_bytes() const;
  uint64_t bad_rows() const;
  uint64_t samples() const;
  // Lookups, pushes and reductions waited for.
  double wait_seconds() const;
  StepSeconds step_seconds() const;
  StepWaits step_waits() const;
  // Every codec over the whole of training.
  std::vector<CodecReport> codec_totals() const;

 private:
  WireBytes AllWireBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  WorkerProgress progress_ ABSL_GUARDED_BY(mu_);
  // Of the processes whose work this one goes on with.
  uint64_t bad_rows_before_ ABSL_GUARDED_BY(mu_) = 0;
  WireBytes wire_bytes_before_ ABSL_GUARDED_BY(mu_);
  using Codecs = std::map<std::pair<std::string, std::string>, CodecReport>;  // by edge and name
  Codecs codecs_ ABSL_GUARDED_BY(mu_);                                        // since the last Take
  Codecs codec_totals_ ABSL_GUARDED_BY(mu_);
  StepSeconds step_seconds_ ABSL_GUARDED_BY(mu_);
  StepWaits step_waits_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_PROGRESS_H_
