// What of a dense gradient passes a threshold, with error feedback: the compaction step of DCT-DP (KDD 2021, Algorithm 1), in memory of the
// device. compression/dct_layer.h is the whole codec, in memory of the host. GPU and reference give the same bits. Thread-compatible.
#ifndef WEIR_CUDA_SELECT_KEPT_H_
#define WEIR_CUDA_SELECT_KEPT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/device_buffer.h"

namespace weir::cuda {

struct SelectKeptInput {
  const DeviceBuffer<float>* gradient = nullptr;
  const DeviceBuffer<float>* residual = nullptr;  // what earlier steps did not send, one for each entry
  float threshold = 0;
};

// Filled by SelectKept, and made to be reused from step to step.
struct KeptSelection {
  // For gradients of `size` entries, all of which may be kept.
  static absl::StatusOr<KeptSelection> Create(uint32_t size);

  size_t count = 0;                  // entries kept
  DeviceBuffer<uint32_t> positions;  // of them, ascending
  DeviceBuffer<float> values;        // gradient + residual there
  DeviceBuffer<float> unsent;        // gradient + residual elsewhere, 0 where kept: the next residual, once what is kept was acknowledged
};

// Keeps the entries with |gradient + residual| >= threshold that are not 0; a threshold of 0 keeps everything that says anything.
// INVALID_ARGUMENT: sizes differ from the selection's, the threshold is negative or not a number, or a sum is not finite (its position is
// named). After an error `count` is 0 and the buffers' contents are unspecified; the inputs never change.
absl::Status SelectKept(const SelectKeptInput& input, KeptSelection* selection);

}  // namespace weir::cuda

#endif  // WEIR_CUDA_SELECT_KEPT_H_
