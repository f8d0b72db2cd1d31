// The device that this folder's operations run on: the first NVIDIA GPU with --config=cuda; without it the processor itself, so that
// every operation has a twin that runs anywhere. Headers of this folder hold no CUDA types.
//
// Operations run in the order of calls on the calling thread's own stream, and are complete when they return. Thread-safe.
#ifndef WEIR_CUDA_DEVICE_H_
#define WEIR_CUDA_DEVICE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::cuda {

// OK when there is a device to run on. FAILED_PRECONDITION says what is missing: a GPU, or a driver new enough.
absl::Status DeviceStatus();

// Raw memory of the device, which only the device reads and writes; DeviceBuffer (device_buffer.h) owns and types it.
// RESOURCE_EXHAUSTED when there is not as much; FAILED_PRECONDITION as DeviceStatus. 0 bytes give null.
absl::StatusOr<void*> AllocateOnDevice(size_t bytes);
void FreeOnDevice(void* memory);

struct DeviceCopy {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
};

// Between host and device memory; `copy` says from where to where, the addresses which is which.
absl::Status CopyToOrFromDevice(const DeviceCopy& copy);

}  // namespace weir::cuda

#endif  // WEIR_CUDA_DEVICE_H_
