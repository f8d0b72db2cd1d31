// Constants and sizes of the frame (compression/FORMAT.md), for its encoder and decoder. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_FRAME_LAYOUT_H_
#define WEIR_COMPRESSION_FRAME_LAYOUT_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdint>

#include "compression/frame.h"

namespace weir::compression {

inline constexpr uint8_t kFrameMagic = 0x57;  // 'W'
inline constexpr uint8_t kFrameVersion = 1;
inline constexpr size_t kFramePrefixBytes = 4;    // magic, version, layout, value type
inline constexpr size_t kFrameChecksumBytes = 4;  // at the end

// Of `count` values; `block` is read for kInt8 only.
inline size_t ValuesBytes(ValueType type, size_t count, size_t block) {
  switch (type) {
    case ValueType::kFp32:
      return count * 4;
    case ValueType::kFp16:
    case ValueType::kBf16:
      return count * 2;
    case ValueType::kInt8:
      break;
  }
  return count + (count + block - 1) / block;
}
inline size_t BitmapBytes(uint32_t size) { return (size_t{size} + 7) / 8; }

// Of all bytes before it.
inline uint32_t FrameChecksum(const void* bytes, size_t size) { return static_cast<uint32_t>(XXH3_64bits(bytes, size)); }

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_FRAME_LAYOUT_H_
