// Dense gradients as products of low rank (PowerSGD, compression/low_rank_layer.h): two plain all-reduces a step, of far fewer numbers.
#ifndef WEIR_WORKER_POWER_SGD_REDUCER_H_
#define WEIR_WORKER_POWER_SGD_REDUCER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "proto/job.pb.h"
#include "worker/dense_model.h"
#include "worker/dense_reducer.h"

namespace weir::worker {

struct PowerSgdOptions {
  Compression::Dense codec;  // validated, method powersgd
  uint64_t seed = 0;         // the same on every worker
};

// `sums` adds what it is given over all workers, of any size, with the same bits on each. The first all-reduce of a step carries P of all
// layers and what travels whole: biases, and weights that are fewer than min_elements or than rank * (rows + columns). The second carries
// Q.
std::unique_ptr<DenseReducer> CreatePowerSgdReducer(const std::vector<ParameterSlice>& layers, const PowerSgdOptions& options,
                                                    std::unique_ptr<DenseReducer> sums);

}  // namespace weir::worker

#endif  // WEIR_WORKER_POWER_SGD_REDUCER_H_
