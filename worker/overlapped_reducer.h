// Reduces the last layers' gradients while those of the first are still being computed.
#ifndef WEIR_WORKER_OVERLAPPED_REDUCER_H_
#define WEIR_WORKER_OVERLAPPED_REDUCER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "worker/dense_model.h"
#include "worker/dense_reducer.h"

namespace weir::worker {

// Where the parts begin that are reduced at a time, from the last to the first: each is one or more whole layers of at least `floats_min`
// parameters together; the first layers' part may have fewer.
std::vector<uint32_t> ReducedParts(absl::Span<const ParameterSlice> layers, uint32_t floats_min);

// `sums` adds what it is given over all workers, of any size, with the same bits on each. It reduces part after part on a thread of the
// reducer's own, each as soon as its gradients are ready. `parts` are the same on all workers. After an error of `sums` the rest of the
// step is left out. The destructor waits for the call under way, which ends when a peer is gone or at its timeout.
std::unique_ptr<DenseReducer> CreateOverlappedReducer(std::vector<uint32_t> parts, std::unique_ptr<DenseReducer> sums);

}  // namespace weir::worker

#endif  // WEIR_WORKER_OVERLAPPED_REDUCER_H_
