// Bounded staleness: pushes wait here until every part of every worker of their step is there, and all earlier steps have been taken.
#ifndef WEIR_SERVER_TABLE_STEP_BUFFER_H_
#define WEIR_SERVER_TABLE_STEP_BUFFER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/data_service.pb.h"
#include "server/table/push_part.h"

namespace weir::server {

// All pushes of one step, in rank and part order: the order of summation.
struct StepPushes {
  int64_t step = 0;
  uint64_t samples = 0;  // of all workers
  std::vector<PushPart> parts;
};

// Each part is taken exactly once for (rank, incarnation, step, part). When a rank comes back with another incarnation, that one starts at
// the first step that was not taken: what its predecessor has buffered is dropped, and what that one still sends is refused. Not
// thread-safe.
class StepBuffer {
 public:
  explicit StepBuffer(uint32_t workers);

  // The first step to be taken is this one. Before anything is added.
  void Restore(int64_t next_step) { next_step_ = next_step; }

  // True when the part is buffered or was taken.
  bool Seen(const PartId& id) const;

  // OUTCOME_DUPLICATE: seen. RESOURCE_EXHAUSTED: kStepsAheadMax or more steps ahead. INVALID_ARGUMENT: parts or samples differ from what an
  // earlier part of this step said. FAILED_PRECONDITION: of an incarnation that has been replaced, or a step before its time. REQUIRES:
  // rank, step and part in range.
  absl::StatusOr<PushReply::Outcome> Add(PushPart part);

  // The next step to be taken, from 0.
  int64_t next_step() const { return next_step_; }
  // True when all of next_step is there.
  bool NextIsComplete() const;
  // The last step such that it and all before it are complete; next_step() - 1 when the next is not.
  int64_t CompleteThrough() const;
  // REQUIRES: NextIsComplete().
  StepPushes TakeNext();

  // Ranks of which next_step lacks a part.
  std::vector<uint32_t> MissingRanks() const;

 private:
  struct WorkerStep {
    std::vector<std::optional<PushPart>> parts;  // empty: nothing yet
    uint32_t missing = 0;
    uint32_t samples = 0;

    bool complete() const { return !parts.empty() && missing == 0; }
  };
  struct Step {
    std::vector<WorkerStep> workers;  // by rank
    uint32_t complete_workers = 0;
  };
  struct Worker {
    std::optional<uint64_t> incarnation;
    int64_t since = 0;              // first step that this incarnation may push
    std::deque<uint64_t> replaced;  // the last kReplacedMax
  };
  static constexpr size_t kReplacedMax = 16;

  absl::Status CheckIncarnation(const PartId& id);
  void DropBuffered(uint32_t worker_rank);

  std::vector<Worker> workers_;  // by rank
  int64_t next_step_ = 0;
  std::deque<Step> steps_;  // steps_[i] is step next_step_ + i; at most kStepsAheadMax
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_STEP_BUFFER_H_
