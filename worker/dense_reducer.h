// The dense edge: sums gradients over the workers.
#ifndef WEIR_WORKER_DENSE_REDUCER_H_
#define WEIR_WORKER_DENSE_REDUCER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
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

  // For a guard of quality (worker/quality_guard.h), where the codec selects by sparsity: from the next Reduce on `factor`, at least 1,
  // times as dense as the settings say, at most whole.
  virtual void SetDensityFactor(double factor) { static_cast<void>(factor); }
  // What this worker has held back of its gradients: flat, all layers, sums over samples; valid until the next call. Empty where the codec
  // holds back nothing.
  virtual absl::Span<const float> HeldBack() { return {}; }

  virtual std::vector<client::CodecStats> TakeStats() = 0;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_DENSE_REDUCER_H_
