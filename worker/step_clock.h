// Where the time of the training thread goes: it is in one phase at a time. Phases are spans of the process's trace, too (base/trace.h).
#ifndef WEIR_WORKER_STEP_CLOCK_H_
#define WEIR_WORKER_STEP_CLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/state_visitor.h"
#include "base/trace.h"
#include "proto/control_service.pb.h"

namespace weir::worker {

enum class StepPhase { kRead, kLookupWait, kForward, kBackward, kPushWait, kGuard, kPushEncode, kReduce, kUpdate, kCheckpoint };

// Single-threaded. Starts in kRead.
class StepClock {
 public:
  StepClock() : entered_(absl::Now()) {}

  // What comes is of this step, in the trace.
  void BeginStep(int64_t step) { step_ = step; }

  // What passed since the last call was of the phase before.
  void Enter(StepPhase phase) {
    const absl::Time now = absl::Now();
    TraceSpan("training", NameOf(phase_), step_, entered_, now);
    spent_[static_cast<size_t>(phase_)] += now - entered_;
    phase_ = phase;
    entered_ = now;
  }

  // A phase that takes something that may not be there yet. `waits`: it is not.
  void EnterWait(StepPhase phase, bool waits) {
    Enter(phase);
    waits_[static_cast<size_t>(phase)] += waits;
  }

  // What was counted in all.
  void VisitState(StateVisitor* state) {
    for (size_t i = 0; i < kPhases; ++i) {
      const StateVisitor::Scope scope(state, NameOf(static_cast<StepPhase>(i)));
      double seconds = absl::ToDoubleSeconds(spent_[i]);
      state->Real("seconds", &seconds);
      state->Count("waits", &waits_[i]);
      if (state->restoring()) spent_[i] = absl::Seconds(seconds);
    }
  }

  StepWaits waits() const {
    StepWaits waits;
    waits.set_lookup(waits_[static_cast<size_t>(StepPhase::kLookupWait)]);
    waits.set_push(waits_[static_cast<size_t>(StepPhase::kPushWait)]);
    waits.set_reduce(waits_[static_cast<size_t>(StepPhase::kReduce)]);
    return waits;
  }

  // Of the phases left so far.
  StepSeconds seconds() const {
    StepSeconds seconds;
    seconds.set_read(Of(StepPhase::kRead));
    seconds.set_lookup_wait(Of(StepPhase::kLookupWait));
    seconds.set_forward(Of(StepPhase::kForward));
    seconds.set_backward(Of(StepPhase::kBackward));
    seconds.set_push_wait(Of(StepPhase::kPushWait));
    seconds.set_guard(Of(StepPhase::kGuard));
    seconds.set_push_encode(Of(StepPhase::kPushEncode));
    seconds.set_reduce(Of(StepPhase::kReduce));
    seconds.set_update(Of(StepPhase::kUpdate));
    seconds.set_checkpoint(Of(StepPhase::kCheckpoint));
    return seconds;
  }

 private:
  static const char* NameOf(StepPhase phase) {
    constexpr const char* kNames[] = {"read",  "lookup wait", "forward", "backward", "push wait",
                                      "guard", "push encode", "reduce",  "update",   "checkpoint"};
    return kNames[static_cast<size_t>(phase)];
  }
  double Of(StepPhase phase) const { return absl::ToDoubleSeconds(spent_[static_cast<size_t>(phase)]); }

  static constexpr size_t kPhases = static_cast<size_t>(StepPhase::kCheckpoint) + 1;
  std::array<absl::Duration, kPhases> spent_ = {};
  std::array<uint64_t, kPhases> waits_ = {};
  StepPhase phase_ = StepPhase::kRead;
  int64_t step_ = 0;
  absl::Time entered_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_STEP_CLOCK_H_
