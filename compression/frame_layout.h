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

inline size_t ValueBytes(ValueType type) { return type == ValueType::kFp16 ? 2 : 4; }
inline size_t BitmapBytes(uint32_t size) { return (size_t{size} + 7) / 8; }

// Of all bytes before it.
inline uint32_t FrameChecksum(const void* bytes, size_t size) { return static_cast<uint32_t>(XXH3_64bits(bytes, size)); }

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_FRAME_LAYOUT_H_
