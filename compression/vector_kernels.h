// The loops over floats that are worth vector instructions, chosen at run time for the processor (Google Highway). Every result but
// SumOfSquares is exact, the same on every processor. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_VECTOR_KERNELS_H_
#define WEIR_COMPRESSION_VECTOR_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace weir::compression {

// What the functions that compact may write beyond their last result, in elements.
inline constexpr size_t kCompactSlack = 64;

// Bits of the largest magnitude: they order as magnitudes do, with infinity and then every NaN on top. 0 for an empty span.
inline constexpr uint32_t kInfinityBits = 0x7f800000;
uint32_t MaxMagnitudeBits(absl::Span<const float> values);

// out[i] = a[i] + b[i], and MaxMagnitudeBits of `out`. `out` may be a or b. REQUIRES: equal sizes.
uint32_t AddInto(absl::Span<const float> a, absl::Span<const float> b, float* out);

// The smallest and the largest. REQUIRES: at least one value; none is NaN.
struct FloatRange {
  float low = 0;
  float high = 0;
};
FloatRange RangeOf(absl::Span<const float> values);

// In double, in an order of summation that depends on the processor.
double SumOfSquares(absl::Span<const float> values);

// Writes offset + i for every value whose magnitude has bits of at least `least_bits`; returns how many. REQUIRES: room for
// values.size() + kCompactSlack; least_bits > 0.
size_t CompactPositions(absl::Span<const float> values, uint32_t least_bits, uint32_t offset, uint32_t* positions);

// The pass of error feedback, for up to kAddCompactMax values: AddInto, CompactPositions of the sums, and the squares of both.
inline constexpr size_t kAddCompactMax = 2048;
struct AddedAndCompacted {
  uint32_t max_bits = 0;  // of the sums
  float a_squares = 0;    // in float: not to be relied on where squares are near its limits
  float sum_squares = 0;
  size_t count = 0;
};
AddedAndCompacted AddAndCompact(absl::Span<const float> a, absl::Span<const float> b, uint32_t least_bits, uint32_t offset, float* out,
                                uint32_t* positions);

// Writes the magnitude bits that lie in [first_bits, end_bits); returns how many. REQUIRES: room for that many + kCompactSlack;
// first_bits < end_bits <= 2^31.
size_t CompactMagnitudes(absl::Span<const float> values, uint32_t first_bits, uint32_t end_bits, uint32_t* magnitudes);

// fp16 as on the wire, 2 bytes each at any address, little-endian. Rounds as half.h.
void HalvesFromFloats(absl::Span<const float> values, uint8_t* halves);
void FloatsFromHalves(const uint8_t* halves, absl::Span<float> values);

// bf16 likewise.
void BrainsFromFloats(absl::Span<const float> values, uint8_t* brains);
void FloatsFromBrains(const uint8_t* brains, absl::Span<float> values);

// Minifloats (half.h), a byte each.
void MinifloatsFromFloats(absl::Span<const float> values, uint8_t* minis);
void FloatsFromMinifloats(const uint8_t* minis, absl::Span<float> values);

// Blocks of 8-bit values as on the wire (FORMAT.md): for each `block` values a scale byte and one signed byte a value; the last block may
// be shorter. Codes are rounded to nearest, ties to even. REQUIRES: magnitudes have bits of at most half.h kInt8LargestBits; block > 0.
void Int8FromFloats(absl::Span<const float> values, size_t block, uint8_t* bytes);
// values[i] = the value with the number begin + i of the blocks at `bytes`. REQUIRES: scale bytes of at most half.h kInt8ScaleMax.
void FloatsFromInt8(const uint8_t* bytes, size_t block, size_t begin, absl::Span<float> values);

// multiples[i] = values[i] / step to the nearest, ties to even, the quotient in fp32. REQUIRES: finite values, step > 0, quotients of
// magnitudes below 2^31.
void MultiplesFromFloats(absl::Span<const float> values, float step, int32_t* multiples);
// values[i] = (lowest + codes[i]) * step, codes of one or two bytes at any address.
void FloatsFromCodes8(const uint8_t* codes, int32_t lowest, float step, absl::Span<float> values);
void FloatsFromCodes16(const uint8_t* codes, int32_t lowest, float step, absl::Span<float> values);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_VECTOR_KERNELS_H_
