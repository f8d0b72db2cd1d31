#include "compression/magnitude_rank.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "compression/half.h"
#include "compression/vector_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/magnitude_rank.cc"
#include "hwy/foreach_target.h"
// foreach_target.h includes this file once for each instruction set, so that its order matters.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compression {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;

// Candidates that are compared with each other in the end.
constexpr size_t kCompared = 32;
// Where the search begins below the largest magnitude: thresholds that keep a tenth are seldom lower.
constexpr uint32_t kFirstOctaves = 4;

// As signed numbers: magnitude bits are below 2^31, and only signed comparison is cheap everywhere.
HWY_INLINE hn::Vec<Ints> Magnitudes(const float* values) {
  return hn::And(hn::BitCast(Ints(), hn::LoadU(Floats(), values)), hn::Set(Ints(), 0x7fffffff));
}

// Values whose magnitude has bits of at least `least`. REQUIRES: least > 0.
uint32_t CountFrom(absl::Span<const float> values, uint32_t least) {
  const Ints d;
  const size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(d, static_cast<int32_t>(least - 1));
  auto count = hn::Zero(d);  // minus as many, in each lane
  size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) count = hn::Add(count, hn::VecFromMask(d, hn::Gt(Magnitudes(&values[i]), below)));
  auto sum = static_cast<uint32_t>(-hn::GetLane(hn::SumOfLanes(d, count)));
  for (; i < values.size(); ++i) sum += (BitsOfFloat(values[i]) & 0x7fffffff) >= least;
  return sum;
}

uint32_t OfRank(absl::Span<const float> values, uint32_t rank, uint32_t max_bits) {
  // As many as wanted reach `low`, fewer reach `high`.
  const auto wanted = static_cast<uint32_t>(values.size()) - rank + 1;
  uint32_t low = 0, high = max_bits + 1;
  auto reach_low = static_cast<uint32_t>(values.size());
  uint32_t reach_high = 0;
  uint32_t guess = max_bits > kFirstOctaves << 23 ? max_bits - (kFirstOctaves << 23) : (max_bits + 1) / 2;
  for (int round = 0; reach_low - reach_high > kCompared && high - low > 1; ++round) {
    guess = std::clamp(guess, low + 1, high - 1);
    const uint32_t reach = CountFrom(values, guess);
    if (reach >= wanted) {
      low = guess;
      reach_low = reach;
    } else {
      high = guess;
      reach_high = reach;
    }
    // Where it would be if they were spread evenly; now and then the middle, so that it ends whatever their spread.
    const double share = static_cast<double>(wanted - reach_high) / (reach_low - reach_high);
    guess = round % 3 == 2 ? low + (high - low) / 2 : high - static_cast<uint32_t>(share * (high - low));
  }
  if (high - low == 1) return low;
  uint32_t candidates[kCompared + kCompactSlack];
  uint32_t* const end = candidates + CompactMagnitudes(values, low, high, candidates);
  uint32_t* const selected = candidates + (wanted - reach_high - 1);
  std::nth_element(candidates, selected, end, std::greater<>());
  return *selected;
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compression
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compression {
namespace {
HWY_EXPORT(OfRank);
}  // namespace

uint32_t MagnitudeOfRank(absl::Span<const float> values, uint32_t rank, uint32_t max_bits) {
  return HWY_DYNAMIC_DISPATCH(OfRank)(values, rank, max_bits);
}

}  // namespace weir::compression
#endif  // HWY_ONCE
