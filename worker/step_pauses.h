// What all workers stop for between two steps: to save a checkpoint, or while shards move between servers.
#ifndef WEIR_WORKER_STEP_PAUSES_H_
#define WEIR_WORKER_STEP_PAUSES_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "proto/control_client.h"

namespace weir::worker {

struct Pause {
  bool checkpoint = false;
  bool resize = false;  // shards move

  bool any() const { return checkpoint || resize; }
};

// Single-threaded.
class StepPauses {
 public:
  virtual ~StepPauses() = default;

  // Everything outlives it.
  static absl::StatusOr<std::unique_ptr<StepPauses>> Create(ControlClient* control, client::Client* client, client::EmbeddingBags* bags);

  // What comes before this step: the same on all workers. Asked once for each step, in order.
  virtual absl::StatusOr<Pause> Before(int64_t step) = 0;

  // Waits until all workers are at this step and shards have moved; then client and bags follow. Returns whether a checkpoint is to be
  // saved before the same step, now that all have moved. REQUIRES: every push of this worker is acknowledged, and no lookup is under way.
  virtual absl::StatusOr<bool> FollowShards(int64_t step) = 0;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_STEP_PAUSES_H_
