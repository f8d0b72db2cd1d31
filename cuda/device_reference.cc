#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "cuda/device.h"

namespace weir::cuda {

absl::Status DeviceStatus() { return absl::OkStatus(); }

absl::StatusOr<void*> AllocateOnDevice(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return absl::ResourceExhaustedError(absl::StrCat("allocating ", bytes, " bytes: there is not as much memory"));
  return memory;
}

void FreeOnDevice(void* memory) { std::free(memory); }

absl::Status CopyToOrFromDevice(const DeviceCopy& copy) {
  if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
  return absl::OkStatus();
}

}  // namespace weir::cuda
