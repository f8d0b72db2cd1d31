// binary16 (IEEE 754), bfloat16, minifloats and the scale of 8-bit blocks, one number at a time: the scalar reference of the vector
// kernels, and their tail. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_HALF_H_
#define WEIR_COMPRESSION_HALF_H_

#include <cstdint>
#include <cstring>

namespace weir::compression {

inline constexpr float kHalfMax = 65504;
// The largest magnitude that rounds to zero: halfway to the smallest subnormal, and ties go to even.
inline constexpr float kHalfZeroMax = 0x1p-25f;

inline uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float FloatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Rounds to nearest, ties to even. 65520 and beyond give infinity; any NaN gives a quiet one.
inline uint16_t HalfFromFloat(float value) {
  const uint32_t bits = BitsOfFloat(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (magnitude < 0x38800000) {
    // A subnormal half. Beside 0.5 a float's last bit weighs 2^-24, so that the addition itself rounds.
    return sign | (BitsOfFloat(FloatOfBits(magnitude) + 0.5f) - BitsOfFloat(0.5f));
  }
  // The exponent's bias goes from 127 to 15; the rest adds a half of the last bit kept, less one unit when that bit is even.
  magnitude = magnitude - (uint32_t{127 - 15} << 23) + 0xfff + (magnitude >> 13 & 1);
  return sign | magnitude >> 13;
}

// Exact. Signalling NaNs become quiet.
inline float FloatFromHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t magnitude = uint32_t{half & 0x7fffu} << 13;
  if (magnitude >= 0x0f800000) return FloatOfBits(sign | 0x7f800000 | (magnitude & 0x007fffff) | (magnitude > 0x0f800000 ? 0x00400000 : 0));
  if (magnitude < 0x00800000) return FloatOfBits(sign | BitsOfFloat(static_cast<float>(half & 0x3ff) * 0x1p-24f));
  return FloatOfBits(sign | (magnitude + (uint32_t{127 - 15} << 23)));
}

// Rounds to nearest, ties to even. Magnitudes of kBrainOverflowBits and beyond give infinity. REQUIRES: not NaN.
inline constexpr uint32_t kBrainOverflowBits = 0x7f7f8000;
inline uint16_t BrainFromFloat(float value) {
  const uint32_t bits = BitsOfFloat(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Exact.
inline float FloatFromBrain(uint16_t brain) { return FloatOfBits(uint32_t{brain} << 16); }

// The minifloat of fp8 frames (FORMAT.md): in the lowest bit the sign, then a bit of mantissa, then 6 of exponent with a bias of 48; an
// exponent of 0 is the number 0. Rounds to nearest, ties to even; magnitudes below 2^-47 give 0, those of kMinifloatOverflowBits and beyond
// wrap. A number that was rounded once is not changed by rounding again.
inline constexpr float kMinifloatMax = 49152;  // 1.5 * 2^15
inline constexpr float kMinifloatMin = 0x1p-47f;
inline constexpr uint32_t kMinifloatOverflowBits = 0x47600000;  // 57344: the first magnitude that rounds beyond
inline uint8_t MinifloatFromFloat(float value) {
  const uint32_t bits = BitsOfFloat(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude < (uint32_t{127 - 47} << 23)) return 0;
  const uint32_t rounded = (magnitude + 0x1fffff + (magnitude >> 22 & 1)) >> 22;
  return static_cast<uint8_t>((rounded - ((127 - 48) << 1)) << 1 | bits >> 31);
}

// Exact.
inline float FloatFromMinifloat(uint8_t mini) {
  const uint32_t magnitude = mini >> 1;
  if (magnitude < 2) return 0;
  return FloatOfBits((magnitude + ((127 - 48) << 1)) << 22 | uint32_t{mini & 1u} << 31);
}

// The scale byte of a block of 8-bit values (FORMAT.md) whose largest magnitude has these bits: 0 when all are zero, else 127 + e for the
// least e >= -126 with max <= 127 * 2^e. So a block that was rounded once keeps its scale and is not changed by rounding again. REQUIRES:
// max_bits <= kInt8LargestBits.
inline constexpr uint32_t kInt8LargestBits = 0x7f7e0000;  // 127 * 2^121
inline constexpr uint8_t kInt8ScaleMax = 127 + 121;
inline uint8_t Int8ScaleByte(uint32_t max_bits) {
  if (max_bits == 0) return 0;
  const int exponent = static_cast<int>(max_bits >> 23) - 127;
  const int e = exponent - 6 + ((max_bits & 0x7fffff) > 0x7e0000 ? 1 : 0);
  return static_cast<uint8_t>(127 + (e < -126 ? -126 : e));
}
// 2^e. REQUIRES: 0 < scale_byte <= kInt8ScaleMax.
inline float Int8Scale(uint8_t scale_byte) { return FloatOfBits(uint32_t{scale_byte} << 23); }
// 2^-e, exact also where it is subnormal.
inline float Int8InverseScale(uint8_t scale_byte) {
  return scale_byte < 254 ? FloatOfBits(uint32_t{254u - scale_byte} << 23) : FloatOfBits(0x00400000);
}

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_HALF_H_
