// Varints (compression/FORMAT.md): 7 bits a byte, low ones first, the high bit set on all bytes but the last; only the shortest form is
// legal. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_VARINT_H_
#define WEIR_COMPRESSION_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::compression {

inline constexpr size_t kVarintBytesMax = 10;  // of 64 bits

inline size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// Writes at most kVarintBytesMax bytes and returns where they end.
inline uint8_t* WriteVarint(uint64_t value, uint8_t* out) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<uint8_t>(value | 0x80);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

inline void AppendVarint(uint64_t value, std::string* out) {
  uint8_t bytes[kVarintBytesMax];
  out->append(reinterpret_cast<const char*>(bytes), WriteVarint(value, bytes) - bytes);
}

// Reads one and returns where it ends; nullptr when it is cut off by `end`, longer than need be, or 2^64 and beyond.
inline const uint8_t* ReadVarint(const uint8_t* at, const uint8_t* end, uint64_t* value) {
  if (at != end && *at < 0x80) {
    *value = *at;
    return at + 1;
  }
  uint64_t sum = 0;
  for (int shift = 0; shift < 64 && at != end; shift += 7) {
    const uint64_t byte = *at++;
    if (shift == 63 && byte > 1) return nullptr;
    sum |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    if (byte == 0) return nullptr;  // a first byte of 0 has returned above
    *value = sum;
    return at;
  }
  return nullptr;
}

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_VARINT_H_
