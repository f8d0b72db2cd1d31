// The dense edge: sums gradients over the workers.
#ifndef WEIR_WORKER_DENSE_REDUCER_H_
#define WEIR_WORKER_DENSE_REDUCER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/state_visitor.h"
#include "client/embedding_bags.h"

namespace weir::worker {

// Single-threaded.
class DenseReducer {
 public:
  virtual ~DenseReducer() = default;
  // Replaces `gradients` (flat, all layers) with the sum over all workers of what the codec sends, the same bits on every worker, and
  // returns the samples of all workers in this step. Every worker calls it for every step, with samples 0 when it has no data left. Errors
  // name the peer.
  virtual absl::StatusOr<uint64_t> Reduce(int64_t step, uint32_t samples, absl::Span<float> gradients) = 0;

  // The same while gradients are still being computed: Begin, then GradientsReady as often as there is news (gradients[offset, end) are
  // final; from now on they are the reducer's), at last Finish, which answers as Reduce. Where a codec needs all of them it all happens in
  // Finish.
  virtual void Begin(int64_t step, uint32_t samples, absl::Span<float> gradients) { begun_ = {step, samples, gradients}; }
  virtual void GradientsReady(uint32_t offset) { static_cast<void>(offset); }
  virtual absl::StatusOr<uint64_t> Finish() { return Reduce(begun_.step, begun_.samples, begun_.gradients); }
  // Whether Finish would have to wait for other workers.
  virtual bool waits() { return true; }

  // For a guard of quality (worker/quality_guard.h), where the codec selects by sparsity: from the next Reduce on `factor`, at least 1,
  // times as dense as the settings say, at most whole.
  virtual void SetDensityFactor(double factor) { static_cast<void>(factor); }
  // What this worker has held back of its gradients: flat, all layers, sums over samples; valid until the next call. Empty where the codec
  // holds back nothing.
  virtual absl::Span<const float> HeldBack() { return {}; }

  // What is remembered from step to step. REQUIRES: between steps.
  virtual void VisitState(StateVisitor* state) { static_cast<void>(state); }

  virtual std::vector<client::CodecStats> TakeStats() = 0;

 protected:
  struct Begun {
    int64_t step = 0;
    uint32_t samples = 0;
    absl::Span<float> gradients;
  };
  const Begun& begun() const { return begun_; }

 private:
  Begun begun_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_DENSE_REDUCER_H_
