// Where the worker's part of a checkpoint goes.
#ifndef WEIR_WORKER_CHECKPOINT_SAVER_H_
#define WEIR_WORKER_CHECKPOINT_SAVER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/state_visitor.h"
#include "proto/control_client.h"
#include "worker/batch.h"
#include "worker/progress.h"

namespace weir::worker {

// Single-threaded.
class CheckpointSaver {
 public:
  virtual ~CheckpointSaver() = default;

  // Null where the job has no checkpoints. Everything outlives it.
  static std::unique_ptr<CheckpointSaver> Create(ControlClient* control, const Progress* progress);

  struct Moment {
    int64_t step = 0;         // the next
    SourcePosition position;  // up to where its data is trained
    bool last = false;        // training has ended
  };
  // Saves what `visit` visits, as the state before the step, and waits until all of the job is saved or frozen; the last time until all is
  // saved. REQUIRES: every push of this worker is acknowledged; none follows before this returns.
  virtual absl::Status Save(const Moment& moment, const std::function<void(StateVisitor*)>& visit) = 0;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_CHECKPOINT_SAVER_H_
