// The part of SelectKept that runs on the device: select_kept.cu with --config=cuda, select_kept_reference.cc without. Private to
// select_kept.cc, which checks the arguments. Thread-compatible.
#ifndef WEIR_CUDA_SELECT_KEPT_KERNEL_H_
#define WEIR_CUDA_SELECT_KEPT_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace weir::cuda {

// All arrays are in memory of the device and have room for `size` elements.
struct SelectKeptArrays {
  const float* gradient = nullptr;
  const float* residual = nullptr;
  float threshold = 0;
  size_t size = 0;
  uint32_t* positions = nullptr;
  float* values = nullptr;
  float* unsent = nullptr;
};

struct SelectKeptResult {
  size_t finite = 0;  // sums before the first that is not finite: `size` when there is none
  size_t kept = 0;    // only when all are finite
};

// Error: what the device said.
absl::StatusOr<SelectKeptResult> RunSelectKept(const SelectKeptArrays& arrays);

}  // namespace weir::cuda

#endif  // WEIR_CUDA_SELECT_KEPT_KERNEL_H_
