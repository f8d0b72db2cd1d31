// Dense gradients without compression: Gloo's ring all-reduce over TCP.
#ifndef WEIR_WORKER_GLOO_REDUCER_H_
#define WEIR_WORKER_GLOO_REDUCER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/control_client.h"
#include "worker/dense_reducer.h"

namespace weir::worker {

struct GlooOptions {
  uint32_t workers = 1;
  std::string host;        // address of this machine that the others can reach
  absl::Duration timeout;  // of the rendezvous, and of each step
};

// Meets the other workers through the coordinator's rendezvous store and connects to each of them. DEADLINE_EXCEEDED when not all come in
// time.
absl::StatusOr<std::unique_ptr<DenseReducer>> CreateGlooReducer(ControlClient* control, const GlooOptions& options);

}  // namespace weir::worker

#endif  // WEIR_WORKER_GLOO_REDUCER_H_
