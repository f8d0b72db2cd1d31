// Constants and sizes of the frame (compression/FORMAT.md), for its encoder and decoder. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_FRAME_LAYOUT_H_
#define WEIR_COMPRESSION_FRAME_LAYOUT_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compression/frame.h"
#include "compression/half.h"
#include "compression/varint.h"

namespace weir::compression {

inline constexpr uint8_t kFrameMagic = 0x57;  // 'W'
inline constexpr uint8_t kFrameVersion = 1;
inline constexpr size_t kFramePrefixBytes = 4;    // magic, version, layout, value type
inline constexpr size_t kFrameChecksumBytes = 4;  // at the end
inline constexpr uint8_t kPackedFlag = 0x80;      // in the byte of the layout
inline constexpr size_t kFrameHeaderBytesMax = kFramePrefixBytes + 4 * kVarintBytesMax + 2;

inline bool IsSteps(ValueType type) { return type == ValueType::kSteps8 || type == ValueType::kSteps16; }

// Of `count` values; `block` is read for kInt8 only.
inline size_t ValuesBytes(ValueType type, size_t count, size_t block) {
  switch (type) {
    case ValueType::kFp32:
      return count * 4;
    case ValueType::kFp16:
    case ValueType::kBf16:
    case ValueType::kSteps16:
      return count * 2;
    case ValueType::kFp8:
    case ValueType::kSteps8:
      return count;
    case ValueType::kInt8:
      break;
  }
  return count + (count + block - 1) / block;
}
// Bytes of a value, of which those of equal weight are packed together.
inline size_t PlanesOf(ValueType type) { return type == ValueType::kInt8 ? 1 : ValuesBytes(type, 1, 1); }

// Writes it and returns where it ends. REQUIRES: room for kFrameHeaderBytesMax.
inline uint8_t* WriteFrameHeader(const FrameHeader& header, uint8_t* out) {
  const uint8_t layout = static_cast<uint8_t>(header.layout) | (header.packed ? kPackedFlag : 0);
  const uint8_t prefix[kFramePrefixBytes] = {kFrameMagic, kFrameVersion, layout, static_cast<uint8_t>(header.values)};
  std::memcpy(out, prefix, sizeof(prefix));
  out = WriteVarint(header.size, out + sizeof(prefix));
  out = WriteVarint(header.kept, out);
  if (header.values != ValueType::kInt8 && !IsSteps(header.values)) return out;
  out = WriteVarint(header.block, out);
  if (header.values == ValueType::kInt8) return out;
  const uint16_t step = static_cast<uint16_t>(BitsOfFloat(header.step) >> 16);
  std::memcpy(out, &step, sizeof(step));
  // Zigzag: small numbers of either sign are short.
  return WriteVarint(static_cast<uint32_t>(header.lowest) << 1 ^ static_cast<uint32_t>(header.lowest >> 31), out + sizeof(step));
}

inline size_t BitmapBytes(uint32_t size) { return (size_t{size} + 7) / 8; }

// Of all bytes before it.
inline uint32_t FrameChecksum(const void* bytes, size_t size) { return static_cast<uint32_t>(XXH3_64bits(bytes, size)); }

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_FRAME_LAYOUT_H_
