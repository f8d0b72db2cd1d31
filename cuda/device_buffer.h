// An array in memory of the device. The host sees its contents only through copies.
#ifndef WEIR_CUDA_DEVICE_BUFFER_H_
#define WEIR_CUDA_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cuda/device.h"

namespace weir::cuda {

// Owns its memory; move-only. Thread-compatible.
template <typename T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "devices copy bytes");

 public:
  // Empty.
  DeviceBuffer() = default;

  // `size` elements of unspecified value. RESOURCE_EXHAUSTED when the device has not as much memory.
  static absl::StatusOr<DeviceBuffer> Create(size_t size) {
    if (size > PTRDIFF_MAX / sizeof(T)) return absl::ResourceExhaustedError(absl::StrCat("no device holds ", size, " elements"));
    absl::StatusOr<void*> memory = AllocateOnDevice(size * sizeof(T));
    if (!memory.ok()) return memory.status();
    return DeviceBuffer(static_cast<T*>(*memory), size);
  }

  static absl::StatusOr<DeviceBuffer> CopyOf(absl::Span<const T> host) {
    absl::StatusOr<DeviceBuffer> buffer = Create(host.size());
    if (!buffer.ok()) return buffer;
    const absl::Status status = CopyToOrFromDevice({host.data(), buffer->data(), host.size() * sizeof(T)});
    if (!status.ok()) return status;
    return buffer;
  }

  // The first `count` elements. REQUIRES: count <= size().
  absl::StatusOr<std::vector<T>> ToHost(size_t count) const {
    std::vector<T> host(count);
    const absl::Status status = CopyToOrFromDevice({data(), host.data(), count * sizeof(T)});
    if (!status.ok()) return status;
    return host;
  }

  // An address on the device, not for the host to follow.
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* memory) const { FreeOnDevice(memory); }
  };

  DeviceBuffer(T* memory, size_t size) : memory_(memory), size_(size) {}

  std::unique_ptr<T, Free> memory_;
  size_t size_ = 0;
};

}  // namespace weir::cuda

#endif  // WEIR_CUDA_DEVICE_BUFFER_H_
