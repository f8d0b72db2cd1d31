#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "cuda/device.h"

namespace weir::cuda {
namespace {

absl::Status ToStatus(cudaError_t error, absl::string_view doing) {
  if (error == cudaSuccess) return absl::OkStatus();
  // Errors of one call are remembered, and would be reported again by the next; those of a broken device stay.
  cudaGetLastError();
  const std::string message = absl::StrCat(doing, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::ResourceExhaustedError(message);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
      return absl::FailedPreconditionError(
          absl::StrCat(message, "; this build needs an NVIDIA GPU and its driver, a build without --config=cuda needs neither"));
    default:
      return absl::InternalError(message);
  }
}

}  // namespace

absl::Status DeviceStatus() {
  int count = 0;
  return ToStatus(cudaGetDeviceCount(&count), "looking for a GPU");
}

absl::StatusOr<void*> AllocateOnDevice(size_t bytes) {
  void* memory = nullptr;
  if (bytes == 0) return memory;
  const absl::Status status = ToStatus(cudaMalloc(&memory, bytes), absl::StrCat("allocating ", bytes, " bytes on the GPU"));
  if (!status.ok()) return status;
  return memory;
}

void FreeOnDevice(void* memory) { cudaFree(memory); }

absl::Status CopyToOrFromDevice(const DeviceCopy& copy) {
  if (copy.bytes == 0) return absl::OkStatus();
  cudaError_t error = cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDefault, cudaStreamPerThread);
  if (error == cudaSuccess) error = cudaStreamSynchronize(cudaStreamPerThread);
  return ToStatus(error, absl::StrCat("copying ", copy.bytes, " bytes to or from the GPU"));
}

}  // namespace weir::cuda
