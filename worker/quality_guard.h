// The quality guard: watches what compression costs, edge by edge, and lowers an edge's sparsity while that is more than the job allows.
//
// A second, uncompressed training to compare with would cost what compression saves. But on every edge that selects by sparsity what was
// not sent is still there, as a residual: so the uncompressed model can be estimated from the compressed one. Every probe_every steps the
// guard takes the first samples of the batch, before the step's own gradients are used, and computes their log-loss again
//
//   lookup   with the rows as they are at the servers, instead of the rows that this worker holds (scope change)
//   push     with these rows after the optimizer's step for all that this worker holds back of their gradients
//   dense    with the dense parameters after the optimizer's step for all that the workers hold back
//
// The samples are the same, so that most of their noise falls out of the difference; and each log-loss is that of the predictions shifted
// as suits the samples best, since the mean prediction swings from batch to batch with every codec and with none. A gradient held back for
// long may be too large for one step: of the dense ones, a quarter counts where it is better. The estimate is of what could be had now for
// the bytes that were saved; it is high in the first steps, where delay costs most, and falls as training slows.
//
// What it does about it: worker/edge_guard.h. Each worker guards what it sends and asks for; decisions need no agreement, and depend on
// nothing but the worker's own samples, rows and residuals, so that deterministic jobs stay so.
#ifndef WEIR_WORKER_QUALITY_GUARD_H_
#define WEIR_WORKER_QUALITY_GUARD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/state_visitor.h"
#include "client/embedding_bags.h"
#include "proto/job.pb.h"
#include "worker/batch.h"
#include "worker/dense_model.h"
#include "worker/dense_reducer.h"
#include "worker/edge_guard.h"
#include "worker/progress.h"

namespace weir::worker {

// What it probes and steers. Nothing is owned; all of it outlives the guard.
struct QualityGuardParts {
  client::EmbeddingBags* bags = nullptr;
  DenseModel* model = nullptr;
  const DenseOptimizer* optimizer = nullptr;
  DenseReducer* reducer = nullptr;
  Progress* progress = nullptr;
};

// Single-threaded.
class QualityGuard {
 public:
  // job: validated, all defaults set. Null when compression.guard.bound is 0.
  static std::unique_ptr<QualityGuard> Create(const Job& job, uint32_t rank, QualityGuardParts parts);

  // A step between its backward pass and its push, that of the step before acknowledged.
  struct Step {
    int64_t step = 0;
    const Batch* batch = nullptr;
    absl::Span<const float> pooled;  // as its lookup answered
    absl::Span<const float> logits;  // of its forward pass
  };
  // Whether Watch would probe at this step.
  bool Watches(int64_t step, uint32_t samples) const;
  // Probes when it is time to. Uses the model's activations up, leaves its parameters and gradients as they are. Errors are those of a
  // lookup.
  absl::Status Watch(const Step& step);

  // What it remembers of probes. The factors that it has set are those of the codecs.
  void VisitState(StateVisitor* state);

 private:
  QualityGuard(const Job& job, uint32_t rank, QualityGuardParts parts);

  // Of the probe's samples, with these pooled vectors and the model's parameters.
  double LogLoss(const Step& step, absl::Span<const float> pooled);
  absl::Status WatchRows(const Step& step, double logloss);
  void WatchDense(const Step& step, double logloss);
  // The log-loss after the best of some moves by what is held back; none: nothing is.
  std::optional<double> WithHeldBackDense(const Step& step);
  // Adds to an edge's guard that its log-loss would be `without` instead of `with`; true when its factor has changed.
  struct Finding {
    const char* edge;
    double with;
    double without;
  };
  bool Judge(const Finding& finding, int64_t step, EdgeGuard* guard);

  const Job job_;
  const uint32_t rank_;
  const QualityGuardParts parts_;
  std::optional<EdgeGuard> lookup_, push_, dense_;  // of the edges that select by sparsity
  uint32_t samples_ = 0;                            // of the probe
  uint64_t step_samples_ = 0;                       // of all workers in its step
  std::vector<float> parameters_, gradient_, logits_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_QUALITY_GUARD_H_
