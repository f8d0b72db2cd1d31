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
  virtual std::vector<client::CodecStats> TakeStats() = 0;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_DENSE_REDUCER_H_
