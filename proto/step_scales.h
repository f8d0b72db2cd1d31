// What one optimizer step multiplies its gradients and its learning rate by: the same on servers and workers.
#ifndef WEIR_PROTO_STEP_SCALES_H_
#define WEIR_PROTO_STEP_SCALES_H_

#include <cstdint>

#include "proto/job.pb.h"

namespace weir {

struct StepScales {
  float gradient = 1;  // of gradients that are sums over the step's samples
  float rate = 1;      // of the learning rate
};

// training: all defaults set. `step` from 0; `samples` of all workers, above 0.
StepScales ScalesOf(const Training& training, int64_t step, uint64_t samples);

}  // namespace weir

#endif  // WEIR_PROTO_STEP_SCALES_H_
