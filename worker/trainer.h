// The training loop: read, look up, forward, backward, push, reduce, update. Lookups are sent steps ahead; the push leaves between the two
// halves of backward; dense gradients are reduced from the last layer on while backward goes on. So only what takes longer than the
// computing beside it is waited for.
#ifndef WEIR_WORKER_TRAINER_H_
#define WEIR_WORKER_TRAINER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "client/embedding_bags.h"
#include "proto/job.pb.h"
#include "worker/batch.h"
#include "worker/checkpoint_saver.h"
#include "worker/dense_model.h"
#include "worker/dense_reducer.h"
#include "worker/progress.h"
#include "worker/quality_guard.h"
#include "worker/step_clock.h"
#include "worker/step_pauses.h"

namespace weir::worker {

// What the loop works with. Nothing is owned; all of it outlives the trainer.
struct TrainerParts {
  BatchSource* source = nullptr;
  client::EmbeddingBags* bags = nullptr;
  DenseModel* model = nullptr;
  DenseOptimizer* optimizer = nullptr;
  DenseReducer* reducer = nullptr;
  Progress* progress = nullptr;
  QualityGuard* guard = nullptr;           // null: nobody watches
  CheckpointSaver* checkpoints = nullptr;  // null: none are saved
  StepPauses* pauses = nullptr;            // null: there are none
};

struct TrainerOptions {
  uint32_t rank = 0;
  uint32_t workers = 1;
  uint32_t dim = 0;
  Training training;  // validated, all defaults set
};

// Single-threaded.
class Trainer {
 public:
  Trainer(TrainerParts parts, TrainerOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains until no worker has data left, or steps_max steps. A worker whose data ends first goes on with empty steps, so that nobody waits
  // for it; all workers stop after the same step. Errors name worker, step and cause.
  absl::Status Run();

  // What the worker must remember to go on behind the last step: that of all parts, too. While Run is not under way, or between steps.
  void VisitState(StateVisitor* state);

 private:
  // A step that is read and whose lookup is under way.
  struct StepAhead {
    int64_t step = 0;
    Batch batch;
    std::unique_ptr<client::BagsLookup> lookup;
  };

  // Looks ahead up to `prefetch` steps, but not past a pause: no lookup is under way in one.
  absl::Status FillWindow();
  absl::StatusOr<bool> PauseIsDue();
  // Does what is due before the next step.
  absl::Status TakePause();
  absl::Status SaveCheckpoint(bool last);
  // One step of the whole job; false when no worker had samples.
  absl::StatusOr<bool> RunStep(StepAhead* current);
  absl::Status LogitGradient(const StepAhead& current);
  // For the acknowledgement of the step before.
  absl::Status WaitForPush();

  const TrainerParts parts_;
  const TrainerOptions options_;
  StepClock clock_;
  int64_t next_step_ = 0;                              // to be read
  int64_t trained_step_ = -1;                          // the last one
  SourcePosition trained_;                             // end of its batch
  int64_t asked_step_ = -1;                            // what is due before this step ...
  Pause due_;                                          // ... was answered with this, and it is not done yet
  std::deque<StepAhead> window_;                       // at most 1 + prefetch
  std::unique_ptr<client::BagsLookup> pushed_lookup_;  // what push_ refers to
  std::unique_ptr<client::BagsPush> push_;             // of the step before
  std::vector<Batch> spare_batches_;                   // memory to reuse
  std::vector<float> pooled_, pooled_gradient_, logits_, logit_gradient_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_TRAINER_H_
