#include "compression/vector_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compression/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/vector_kernels.cc"
#include "hwy/foreach_target.h"
// foreach_target.h includes this file once for each instruction set, so that its order matters.
#include "hwy/highway.h"

// Before AVX2 x86 has no conversion of half floats; the scalar one is then as good.
#undef WEIR_VECTOR_HALF
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define WEIR_VECTOR_HALF 1
#else
#define WEIR_VECTOR_HALF 0
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::compression {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;

// As signed numbers: magnitude bits are below 2^31, and only signed comparison is cheap everywhere.
HWY_INLINE hn::Vec<Ints> MagnitudeBits(hn::Vec<Floats> v) { return hn::And(hn::BitCast(Ints(), v), hn::Set(Ints(), 0x7fffffff)); }

uint32_t MaxOfLanes(hn::Vec<Ints> v) { return static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(Ints(), v))); }

uint32_t MaxMagnitudeBits(absl::Span<const float> values) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  auto max0 = hn::Zero(Ints()), max1 = max0;
  size_t i = 0;
  for (; i + 2 * lanes <= values.size(); i += 2 * lanes) {
    max0 = hn::Max(max0, MagnitudeBits(hn::LoadU(d, &values[i])));
    max1 = hn::Max(max1, MagnitudeBits(hn::LoadU(d, &values[i + lanes])));
  }
  uint32_t max = MaxOfLanes(hn::Max(max0, max1));
  for (; i < values.size(); ++i) max = std::max(max, BitsOfFloat(values[i]) & 0x7fffffff);
  return max;
}

uint32_t AddInto(absl::Span<const float> a, absl::Span<const float> b, float* out) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  auto max = hn::Zero(Ints());
  size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes) {
    const auto sum = hn::Add(hn::LoadU(d, &a[i]), hn::LoadU(d, &b[i]));
    max = hn::Max(max, MagnitudeBits(sum));
    hn::StoreU(sum, d, out + i);
  }
  uint32_t max_bits = MaxOfLanes(max);
  for (; i < a.size(); ++i) {
    out[i] = a[i] + b[i];
    max_bits = std::max(max_bits, BitsOfFloat(out[i]) & 0x7fffffff);
  }
  return max_bits;
}

double SumOfSquares(absl::Span<const float> values) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> d;
  const size_t lanes = hn::Lanes(wide);
  auto sum0 = hn::Zero(wide), sum1 = sum0;
  size_t i = 0;
  for (; i + 2 * lanes <= values.size(); i += 2 * lanes) {
    const auto v0 = hn::PromoteTo(wide, hn::LoadU(d, &values[i]));
    const auto v1 = hn::PromoteTo(wide, hn::LoadU(d, &values[i + lanes]));
    sum0 = hn::MulAdd(v0, v0, sum0);
    sum1 = hn::MulAdd(v1, v1, sum1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(sum0, sum1)));
  for (; i < values.size(); ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

size_t CompactPositions(absl::Span<const float> values, uint32_t least_bits, uint32_t offset, uint32_t* positions) {
  const Floats d;
  const Ints di;
  const hn::RebindToUnsigned<Floats> du;
  const size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(di, static_cast<int32_t>(least_bits - 1));
  const auto keeps = [&](size_t at) { return hn::Gt(MagnitudeBits(hn::LoadU(d, &values[at])), below); };
  const auto iota = hn::Iota(du, 0);
  uint32_t* out = positions;
  const auto compact = [&](auto mask, size_t at) {
    const auto index = hn::Add(iota, hn::Set(du, static_cast<uint32_t>(offset + at)));
    hn::StoreU(hn::Compress(index, hn::RebindMask(du, mask)), du, out);
    out += hn::CountTrue(di, mask);
  };
  size_t i = 0;
  for (; i + 4 * lanes <= values.size(); i += 4 * lanes) {
    const auto m0 = keeps(i), m1 = keeps(i + lanes), m2 = keeps(i + 2 * lanes), m3 = keeps(i + 3 * lanes);
    if (hn::AllFalse(di, hn::Or(hn::Or(m0, m1), hn::Or(m2, m3)))) continue;  // the usual case at the densities that pay
    compact(m0, i);
    compact(m1, i + lanes);
    compact(m2, i + 2 * lanes);
    compact(m3, i + 3 * lanes);
  }
  for (; i < values.size(); ++i) {
    if ((BitsOfFloat(values[i]) & 0x7fffffff) >= least_bits) *out++ = static_cast<uint32_t>(offset + i);
  }
  return out - positions;
}

AddedAndCompacted AddAndCompact(absl::Span<const float> a, absl::Span<const float> b, uint32_t least_bits, uint32_t offset, float* out,
                                uint32_t* positions) {
  const Floats d;
  const Ints di;
  const hn::RebindToUnsigned<Floats> du;
  const size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(di, static_cast<int32_t>(least_bits - 1));
  const auto iota = hn::Iota(du, 0);
  auto max = hn::Zero(di);
  auto a_squares = hn::Zero(d), sum_squares = a_squares, a_squares1 = a_squares, sum_squares1 = a_squares;
  uint32_t* to = positions;
  const auto compact = [&](hn::Vec<Ints> bits, size_t at) {
    const auto mask = hn::Gt(bits, below);
    const auto index = hn::Add(iota, hn::Set(du, static_cast<uint32_t>(offset + at)));
    hn::StoreU(hn::Compress(index, hn::RebindMask(du, mask)), du, to);
    to += hn::CountTrue(di, mask);
  };
  size_t i = 0;
  for (; i + 2 * lanes <= a.size(); i += 2 * lanes) {
    const auto a0 = hn::LoadU(d, &a[i]), a1 = hn::LoadU(d, &a[i + lanes]);
    const auto s0 = hn::Add(a0, hn::LoadU(d, &b[i])), s1 = hn::Add(a1, hn::LoadU(d, &b[i + lanes]));
    hn::StoreU(s0, d, out + i);
    hn::StoreU(s1, d, out + i + lanes);
    a_squares = hn::MulAdd(a0, a0, a_squares);
    a_squares1 = hn::MulAdd(a1, a1, a_squares1);
    sum_squares = hn::MulAdd(s0, s0, sum_squares);
    sum_squares1 = hn::MulAdd(s1, s1, sum_squares1);
    const auto bits0 = MagnitudeBits(s0), bits1 = MagnitudeBits(s1);
    const auto larger = hn::Max(bits0, bits1);
    max = hn::Max(max, larger);
    if (hn::AllFalse(di, hn::Gt(larger, below))) continue;  // the usual case at the densities that pay
    compact(bits0, i);
    compact(bits1, i + lanes);
  }
  AddedAndCompacted result;
  result.max_bits = MaxOfLanes(max);
  result.a_squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(a_squares, a_squares1)));
  result.sum_squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum_squares, sum_squares1)));
  for (; i < a.size(); ++i) {
    out[i] = a[i] + b[i];
    const uint32_t bits = BitsOfFloat(out[i]) & 0x7fffffff;
    result.max_bits = std::max(result.max_bits, bits);
    result.a_squares += a[i] * a[i];
    result.sum_squares += out[i] * out[i];
    if (bits >= least_bits) *to++ = static_cast<uint32_t>(offset + i);
  }
  result.count = to - positions;
  return result;
}

size_t CompactMagnitudes(absl::Span<const float> values, uint32_t first_bits, uint32_t end_bits, uint32_t* magnitudes) {
  const Floats d;
  const Ints di;
  const hn::RebindToUnsigned<Floats> du;
  const size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(di, static_cast<int32_t>(first_bits) - 1);
  const auto last = hn::Set(di, static_cast<int32_t>(end_bits - 1));
  uint32_t* out = magnitudes;
  size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    const auto bits = MagnitudeBits(hn::LoadU(d, &values[i]));
    const auto mask = hn::AndNot(hn::Gt(bits, last), hn::Gt(bits, below));
    if (hn::AllFalse(di, mask)) continue;
    hn::StoreU(hn::Compress(hn::BitCast(du, bits), hn::RebindMask(du, mask)), du, out);
    out += hn::CountTrue(di, mask);
  }
  for (; i < values.size(); ++i) {
    const uint32_t bits = BitsOfFloat(values[i]) & 0x7fffffff;
    if (bits >= first_bits && bits < end_bits) *out++ = bits;
  }
  return out - magnitudes;
}

void HalvesFromFloats(absl::Span<const float> values, uint8_t* halves) {
  size_t i = 0;
#if WEIR_VECTOR_HALF
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> dh;
  const hn::Repartition<uint8_t, decltype(dh)> bytes;
  const size_t lanes = hn::Lanes(d);
  for (; i + lanes <= values.size(); i += lanes) {
    hn::StoreU(hn::BitCast(bytes, hn::DemoteTo(dh, hn::LoadU(d, &values[i]))), bytes, halves + i * 2);
  }
#endif
  for (; i < values.size(); ++i) {
    const uint16_t half = HalfFromFloat(values[i]);
    std::memcpy(halves + i * 2, &half, sizeof(half));
  }
}

void FloatsFromHalves(const uint8_t* halves, absl::Span<float> values) {
  size_t i = 0;
#if WEIR_VECTOR_HALF
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> dh;
  const hn::Repartition<uint8_t, decltype(dh)> bytes;
  const size_t lanes = hn::Lanes(d);
  for (; i + lanes <= values.size(); i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(bytes, halves + i * 2))), d, &values[i]);
  }
#endif
  for (; i < values.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, halves + i * 2, sizeof(half));
    values[i] = FloatFromHalf(half);
  }
}

void BrainsFromFloats(absl::Span<const float> values, uint8_t* brains) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vectors of bytes
  const hn::RebindToUnsigned<Floats> du;
  const hn::Rebind<uint16_t, Floats> d16;
  const hn::Repartition<uint8_t, decltype(d16)> bytes;
  const size_t lanes = hn::Lanes(du);
  const auto one = hn::Set(du, 1), almost_half = hn::Set(du, 0x7fff);
  for (; i + lanes <= values.size(); i += lanes) {
    const auto bits = hn::BitCast(du, hn::LoadU(Floats(), &values[i]));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), one);
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(almost_half, odd)));
    hn::StoreU(hn::BitCast(bytes, hn::DemoteTo(d16, hn::BitCast(Ints(), rounded))), bytes, brains + i * 2);
  }
#endif
  for (; i < values.size(); ++i) {
    const uint16_t brain = BrainFromFloat(values[i]);
    std::memcpy(brains + i * 2, &brain, sizeof(brain));
  }
}

void FloatsFromBrains(const uint8_t* brains, absl::Span<float> values) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vectors of bytes
  const hn::RebindToUnsigned<Floats> du;
  const hn::Rebind<uint16_t, Floats> d16;
  const hn::Repartition<uint8_t, decltype(d16)> bytes;
  const size_t lanes = hn::Lanes(du);
  for (; i + lanes <= values.size(); i += lanes) {
    const auto wide = hn::PromoteTo(du, hn::BitCast(d16, hn::LoadU(bytes, brains + i * 2)));
    hn::StoreU(hn::BitCast(Floats(), hn::ShiftLeft<16>(wide)), Floats(), &values[i]);
  }
#endif
  for (; i < values.size(); ++i) {
    uint16_t brain;
    std::memcpy(&brain, brains + i * 2, sizeof(brain));
    values[i] = FloatFromBrain(brain);
  }
}

void Int8FromFloats(absl::Span<const float> values, size_t block, uint8_t* bytes) {
  const Floats d;
  const hn::Rebind<int8_t, Floats> d8;
  const size_t lanes = hn::Lanes(d);
  for (size_t begin = 0; begin < values.size(); begin += block) {
    const absl::Span<const float> in = values.subspan(begin, block);
    const uint8_t scale = Int8ScaleByte(MaxMagnitudeBits(in));
    const float inverse = scale == 0 ? 0.0f : Int8InverseScale(scale);
    const auto inverses = hn::Set(d, inverse);
    *bytes++ = scale;
    int8_t* const codes = reinterpret_cast<int8_t*>(bytes);
    size_t i = 0;
    for (; i + lanes <= in.size(); i += lanes) {
      hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(hn::Mul(hn::LoadU(d, &in[i]), inverses))), d8, codes + i);
    }
    for (; i < in.size(); ++i) codes[i] = static_cast<int8_t>(std::nearbyint(in[i] * inverse));
    bytes += in.size();
  }
}

void FloatsFromInt8(const uint8_t* bytes, size_t block, size_t begin, absl::Span<float> values) {
  const Floats d;
  const hn::Rebind<int8_t, Floats> d8;
  const size_t lanes = hn::Lanes(d);
  for (size_t done = 0; done < values.size();) {
    const size_t at = begin + done;
    const uint8_t* const scale = bytes + at / block * (block + 1);
    const int8_t* const codes = reinterpret_cast<const int8_t*>(scale + 1 + at % block);
    const absl::Span<float> out = values.subspan(done, block - at % block);
    const float factor = *scale == 0 ? 0.0f : Int8Scale(*scale);
    const auto factors = hn::Set(d, factor);
    size_t i = 0;
    for (; i + lanes <= out.size(); i += lanes) {
      hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::PromoteTo(Ints(), hn::LoadU(d8, codes + i))), factors), d, &out[i]);
    }
    for (; i < out.size(); ++i) out[i] = static_cast<float>(codes[i]) * factor;
    done += out.size();
  }
}

FloatRange RangeOf(absl::Span<const float> values) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  FloatRange range = {values[0], values[0]};
  size_t i = 0;
  if (values.size() >= lanes) {
    auto low = hn::LoadU(d, values.data()), high = low;
    for (i = lanes; i + lanes <= values.size(); i += lanes) {
      const auto next = hn::LoadU(d, &values[i]);
      low = hn::Min(low, next);
      high = hn::Max(high, next);
    }
    range = {hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high))};
  }
  for (; i < values.size(); ++i) range = {std::min(range.low, values[i]), std::max(range.high, values[i])};
  return range;
}

void MinifloatsFromFloats(absl::Span<const float> values, uint8_t* minis) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const hn::Rebind<uint8_t, Floats> d8;
  const size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(du, 1), almost_half = hn::Set(du, 0x1fffff), bias = hn::Set(du, (127 - 48) << 1);
  const auto beyond_least = hn::Set(Ints(), ((127 - 47) << 23) - 1);
  size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    const auto bits = hn::BitCast(du, hn::LoadU(d, &values[i]));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffff));
    const auto odd = hn::And(hn::ShiftRight<22>(magnitude), one);
    const auto rounded = hn::Sub(hn::ShiftRight<22>(hn::Add(magnitude, hn::Add(almost_half, odd))), bias);
    const auto coded = hn::BitCast(Ints(), hn::Or(hn::ShiftLeft<1>(rounded), hn::ShiftRight<31>(bits)));
    const auto carried = hn::Gt(hn::BitCast(Ints(), magnitude), beyond_least);
    hn::StoreU(hn::DemoteTo(d8, hn::IfThenElseZero(carried, coded)), d8, minis + i);
  }
  for (; i < values.size(); ++i) minis[i] = MinifloatFromFloat(values[i]);
}

void FloatsFromMinifloats(const uint8_t* minis, absl::Span<float> values) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const hn::Rebind<uint8_t, Floats> d8;
  const size_t lanes = hn::Lanes(d);
  const auto bias = hn::Set(du, (127 - 48) << 1);
  size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    const auto coded = hn::PromoteTo(du, hn::LoadU(d8, minis + i));
    const auto magnitude = hn::ShiftRight<1>(coded);
    const auto bits = hn::Or(hn::ShiftLeft<22>(hn::Add(magnitude, bias)), hn::ShiftLeft<31>(coded));
    const auto carried = hn::Gt(hn::BitCast(Ints(), magnitude), hn::Set(Ints(), 1));
    hn::StoreU(hn::BitCast(d, hn::IfThenElseZero(carried, hn::BitCast(Ints(), bits))), d, &values[i]);
  }
  for (; i < values.size(); ++i) values[i] = FloatFromMinifloat(minis[i]);
}

void MultiplesFromFloats(absl::Span<const float> values, float step, int32_t* multiples) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const auto steps = hn::Set(d, step);
  size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    hn::StoreU(hn::NearestInt(hn::Div(hn::LoadU(d, &values[i]), steps)), Ints(), multiples + i);
  }
  for (; i < values.size(); ++i) multiples[i] = static_cast<int32_t>(std::nearbyint(values[i] / step));
}

template <typename Code>
void FloatsFromCodes(const uint8_t* codes, int32_t lowest, float step, absl::Span<float> values) {
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vectors of bytes
  const Floats d;
  const Ints di;
  const hn::Rebind<Code, Floats> d_code;
  const hn::Repartition<uint8_t, decltype(d_code)> bytes;
  const size_t lanes = hn::Lanes(d);
  const auto steps = hn::Set(d, step);
  const auto lowests = hn::Set(di, lowest);
  for (; i + lanes <= values.size(); i += lanes) {
    const auto code = hn::PromoteTo(di, hn::BitCast(d_code, hn::LoadU(bytes, codes + i * sizeof(Code))));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::Add(code, lowests)), steps), d, &values[i]);
  }
#endif
  for (; i < values.size(); ++i) {
    Code code;
    std::memcpy(&code, codes + i * sizeof(Code), sizeof(code));
    values[i] = static_cast<float>(lowest + code) * step;
  }
}

void FloatsFromCodes8(const uint8_t* codes, int32_t lowest, float step, absl::Span<float> values) {
  FloatsFromCodes<uint8_t>(codes, lowest, step, values);
}

void FloatsFromCodes16(const uint8_t* codes, int32_t lowest, float step, absl::Span<float> values) {
  FloatsFromCodes<uint16_t>(codes, lowest, step, values);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compression
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compression {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers go to the wire as they lie in memory");

HWY_EXPORT(MaxMagnitudeBits);
HWY_EXPORT(AddInto);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(CompactPositions);
HWY_EXPORT(AddAndCompact);
HWY_EXPORT(CompactMagnitudes);
HWY_EXPORT(HalvesFromFloats);
HWY_EXPORT(FloatsFromHalves);
HWY_EXPORT(BrainsFromFloats);
HWY_EXPORT(FloatsFromBrains);
HWY_EXPORT(Int8FromFloats);
HWY_EXPORT(FloatsFromInt8);
HWY_EXPORT(RangeOf);
HWY_EXPORT(MinifloatsFromFloats);
HWY_EXPORT(FloatsFromMinifloats);
HWY_EXPORT(MultiplesFromFloats);
HWY_EXPORT(FloatsFromCodes8);
HWY_EXPORT(FloatsFromCodes16);

uint32_t MaxMagnitudeBits(absl::Span<const float> values) { return HWY_DYNAMIC_DISPATCH(MaxMagnitudeBits)(values); }

uint32_t AddInto(absl::Span<const float> a, absl::Span<const float> b, float* out) { return HWY_DYNAMIC_DISPATCH(AddInto)(a, b, out); }

double SumOfSquares(absl::Span<const float> values) { return HWY_DYNAMIC_DISPATCH(SumOfSquares)(values); }

size_t CompactPositions(absl::Span<const float> values, uint32_t least_bits, uint32_t offset, uint32_t* positions) {
  return HWY_DYNAMIC_DISPATCH(CompactPositions)(values, least_bits, offset, positions);
}

AddedAndCompacted AddAndCompact(absl::Span<const float> a, absl::Span<const float> b, uint32_t least_bits, uint32_t offset, float* out,
                                uint32_t* positions) {
  return HWY_DYNAMIC_DISPATCH(AddAndCompact)(a, b, least_bits, offset, out, positions);
}

size_t CompactMagnitudes(absl::Span<const float> values, uint32_t first_bits, uint32_t end_bits, uint32_t* magnitudes) {
  return HWY_DYNAMIC_DISPATCH(CompactMagnitudes)(values, first_bits, end_bits, magnitudes);
}

void HalvesFromFloats(absl::Span<const float> values, uint8_t* halves) { HWY_DYNAMIC_DISPATCH(HalvesFromFloats)(values, halves); }

void FloatsFromHalves(const uint8_t* halves, absl::Span<float> values) { HWY_DYNAMIC_DISPATCH(FloatsFromHalves)(halves, values); }

void BrainsFromFloats(absl::Span<const float> values, uint8_t* brains) { HWY_DYNAMIC_DISPATCH(BrainsFromFloats)(values, brains); }

void FloatsFromBrains(const uint8_t* brains, absl::Span<float> values) { HWY_DYNAMIC_DISPATCH(FloatsFromBrains)(brains, values); }

void Int8FromFloats(absl::Span<const float> values, size_t block, uint8_t* bytes) {
  HWY_DYNAMIC_DISPATCH(Int8FromFloats)(values, block, bytes);
}

void FloatsFromInt8(const uint8_t* bytes, size_t block, size_t begin, absl::Span<float> values) {
  HWY_DYNAMIC_DISPATCH(FloatsFromInt8)(bytes, block, begin, values);
}

FloatRange RangeOf(absl::Span<const float> values) { return HWY_DYNAMIC_DISPATCH(RangeOf)(values); }

void MinifloatsFromFloats(absl::Span<const float> values, uint8_t* minis) { HWY_DYNAMIC_DISPATCH(MinifloatsFromFloats)(values, minis); }

void FloatsFromMinifloats(const uint8_t* minis, absl::Span<float> values) { HWY_DYNAMIC_DISPATCH(FloatsFromMinifloats)(minis, values); }

void MultiplesFromFloats(absl::Span<const float> values, float step, int32_t* multiples) {
  HWY_DYNAMIC_DISPATCH(MultiplesFromFloats)(values, step, multiples);
}

void FloatsFromCodes8(const uint8_t* codes, int32_t lowest, float step, absl::Span<float> values) {
  HWY_DYNAMIC_DISPATCH(FloatsFromCodes8)(codes, lowest, step, values);
}

void FloatsFromCodes16(const uint8_t* codes, int32_t lowest, float step, absl::Span<float> values) {
  HWY_DYNAMIC_DISPATCH(FloatsFromCodes16)(codes, lowest, step, values);
}

}  // namespace weir::compression
#endif  // HWY_ONCE
