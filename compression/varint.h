// Varints (compression/FORMAT.md): 7 bits a byte, low ones first, the high bit set on all bytes but the last; only the shortest form is
// legal. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_VARINT_H_
#define WEIR_COMPRESSION_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace weir::compression {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest of a word");

inline constexpr size_t kVarintBytesMax = 10;  // of 64 bits
inline constexpr size_t kVarintBytesWord = 8;  // as many are read and written at once

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

// The same bytes without a loop; writes up to kVarintBytesMax bytes whatever the value.
inline uint8_t* WriteVarintFast(uint64_t value, uint8_t* out) {
  if (value < 0x80 || value >> 7 * kVarintBytesWord != 0) return WriteVarint(value, out);
  // Seven bits to a byte: halves apart, then quarters, then eighths.
  uint64_t word = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
  word = (word & 0x00003fff00003fff) | (word & 0x0fffc0000fffc000) << 2;
  word = (word & 0x007f007f007f007f) | (word & 0x3f803f803f803f80) << 1;
  const unsigned last = (63 - __builtin_clzll(word | 1)) / 8;  // byte
  word |= 0x8080808080808080 & ((uint64_t{1} << 8 * last) - 1);
  std::memcpy(out, &word, sizeof(word));
  return out + last + 1;
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
  if (end - at >= static_cast<ptrdiff_t>(kVarintBytesWord)) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    const uint64_t stops = ~word & 0x8080808080808080;
    if (stops != 0) {
      word &= stops ^ (stops - 1);  // up to the first byte without its high bit
      const unsigned last = __builtin_ctzll(stops) / 8;
      if (word >> 8 * last == 0) return nullptr;
      word &= 0x7f7f7f7f7f7f7f7f;
      word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
      word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
      *value = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
      return at + last + 1;
    }
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
