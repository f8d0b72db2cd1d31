// Dense gradients in frames, by the codec of each layer (compression/layer_codec_registry.h), reduced by owners over gRPC.
//
// The flat gradient is cut into one slice for each worker. A worker sends each peer its frames of the peer's slice and gets the sum of all
// workers back. Bytes sent by each worker: its own frames once, and the sum of its slice to each peer.
#ifndef WEIR_WORKER_PEER_REDUCER_H_
#define WEIR_WORKER_PEER_REDUCER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/job.pb.h"
#include "worker/dense_model.h"
#include "worker/dense_reducer.h"
#include "worker/peer_exchange.h"

namespace weir::worker {

struct PeerReducerOptions {
  Compression::Dense codec;  // validated, of a method that MakeLayerCodec knows
  uint64_t job_hash = 0;
  uint32_t rank = 0;
  std::vector<std::string> peers;  // address of every worker's PeerService, by rank; the own one is not called
  absl::Duration timeout;          // of one step's reduction
};

// Configures `exchange`, which must be the one that peers reach at peers[rank] and outlive the reducer. INVALID_ARGUMENT: a method that
// does not send frames of layers.
absl::StatusOr<std::unique_ptr<DenseReducer>> CreatePeerReducer(const std::vector<ParameterSlice>& layers, PeerExchange* exchange,
                                                                PeerReducerOptions options);

}  // namespace weir::worker

#endif  // WEIR_WORKER_PEER_REDUCER_H_
