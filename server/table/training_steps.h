// The one mechanism for time on a server: pushes become steps, steps are applied in order, lookups wait for the step that they may see.
//
// Bounded staleness s >= 0: a step is applied when every part of every worker's push of it is there and all earlier steps are applied; the
// gradients of a row are summed in rank and part order and make one optimizer step, so reruns are equal to the bit whatever the order of
// arrival. A lookup for step t is let through when step t - 1 - s is applied. A step of 0 samples in all is applied as nothing. Unbounded
// (s = -1): a push is applied when it comes, scaled by its own samples; lookups never wait.
#ifndef WEIR_SERVER_TABLE_TRAINING_STEPS_H_
#define WEIR_SERVER_TABLE_TRAINING_STEPS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "proto/data_service.pb.h"
#include "proto/job.pb.h"
#include "server/table/lookup_gate.h"
#include "server/table/push_ledger.h"
#include "server/table/push_part.h"
#include "server/table/push_recorder.h"
#include "server/table/step_buffer.h"
#include "server/table/table_registry.h"

namespace weir::server {

struct TrainingStepsOptions {
  uint32_t workers = 1;
  Training training;  // all defaults set
};

// Thread-safe. One thread of its own ends waits at their deadline. No callback is called under a lock.
class TrainingSteps {
 public:
  // `tables` outlives it.
  TrainingSteps(TrainingStepsOptions options, TableRegistry* tables);
  // Ends what waits with UNAVAILABLE.
  ~TrainingSteps();

  struct Accepted {
    PushReply::Outcome outcome = PushReply::OUTCOME_ACCEPTED;
    std::vector<std::function<void()>> released;  // lookups that this push has let through: call each, after the push is answered
  };
  // Takes a push, exactly once for its id, and applies all steps that are complete with it. Errors: see StepBuffer::Add and
  // PushLedger::Record; INVALID_ARGUMENT: rank, step or part out of range; of the recorder.
  absl::StatusOr<Accepted> Accept(PushPart part);
  // True when the part was accepted before.
  bool Seen(const PartId& id) const;
  // INVALID_ARGUMENT, naming the field: rank, step or part out of range.
  absl::Status CheckId(const PartId& id, uint32_t parts) const;

  // Calls waiter.resume, at once when it need not wait: with OK when a lookup for training step `waiter.step` may be served,
  // DEADLINE_EXCEEDED naming the step and the ranks whose pushes are missing, RESOURCE_EXHAUSTED for a step too far ahead or too many
  // lookups, UNAVAILABLE after Stop.
  void WaitToTrain(Waiter waiter);
  // The same for a lookup that reads rows as they stand: it waits only for what is being applied, so that it sees all of every acknowledged
  // step that is complete. waiter.step is not read.
  void WaitToEvaluate(Waiter waiter);
  // From now on every accepted push is recorded before it is answered. `recorder` outlives this.
  void RecordWith(PushRecorder* recorder) { recorder_ = recorder; }

  // The same until all pushes up to waiter.step are applied. Unbounded: at once, since what is acknowledged is applied.
  void WaitUntilApplied(Waiter waiter);
  // Goes on behind this step, as if all up to it had been pushed here. Before anything else.
  void Restore(int64_t applied_step);
  // The owner's lookup, if it still waits, resumes with CANCELLED.
  void Cancel(const void* owner);
  void Stop();

  // Last step whose pushes are all applied; -1: none, or unbounded.
  int64_t applied_step() const;

 private:
  bool bounded() const { return options_.training.staleness() >= 0; }
  absl::StatusOr<Accepted> AcceptUnbounded(PushPart part);
  bool TakeCompleteStep(StepPushes* pushes);
  std::vector<Waiter> FinishStep(int64_t step);
  void ApplyParts(absl::Span<const PushPart> parts, uint64_t samples);
  void ParkOrResume(Waiter waiter) ABSL_LOCKS_EXCLUDED(mu_);
  std::string WhatIsMissing(const Waiter& waiter) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndWaitsAtDeadlines();

  const TrainingStepsOptions options_;
  TableRegistry* const tables_;
  PushRecorder* recorder_ = nullptr;

  mutable Mutex mu_;
  CondVar gate_changed_;                    // signalled when the earliest deadline may have moved forward, and at the end
  PushLedger ledger_ ABSL_GUARDED_BY(mu_);  // unbounded only
  StepBuffer buffer_ ABSL_GUARDED_BY(mu_);  // bounded only
  LookupGate gate_ ABSL_GUARDED_BY(mu_);
  int64_t applied_step_ ABSL_GUARDED_BY(mu_) = -1;
  bool applying_ ABSL_GUARDED_BY(mu_) = false;  // by one thread at a time, outside the lock
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;

  std::thread deadline_thread_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_TRAINING_STEPS_H_
