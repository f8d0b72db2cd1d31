#include "compression/kept_entries.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "compression/half.h"
#include "compression/threshold.h"
#include "compression/vector_kernels.h"

namespace weir::compression {

absl::Status CheckSlices(absl::Span<const uint32_t> slice_ends, size_t size, uint32_t width) {
  uint32_t begin = 0;
  for (const uint32_t end : slice_ends) {
    if (end < begin) return absl::InvalidArgumentError(absl::StrCat("a slice ends at ", end, ", before the one ahead of it at ", begin));
    if (uint64_t{end - begin} * width > kFrameEntriesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a slice of ", uint64_t{end - begin} * width, " entries; at most ", kFrameEntriesMax, " fit"));
    }
    begin = end;
  }
  if (begin == size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the last slice ends at ", begin, ", not at ", size));
}

absl::Status NotFinite(absl::Span<const float> gradient, absl::Span<const float> sums) {
  const size_t bad = std::find_if_not(sums.begin(), sums.end(), [](float sum) { return std::isfinite(sum); }) - sums.begin();
  return absl::InvalidArgumentError(absl::StrCat("gradient ", bad, " of ", gradient.size(), " is ", gradient[bad],
                                                 std::isfinite(gradient[bad]) ? "; with its residual it overflows" : "; it was refused"));
}

namespace {

// The least magnitude that does not round to zero by itself; in a block of 8-bit values it depends on the others.
float LeastSent(ValueType type) {
  switch (type) {
    case ValueType::kFp16:
      return std::nextafter(kHalfZeroMax, 1.0f);
    case ValueType::kBf16:
      return FloatOfBits(0x8001);
    case ValueType::kFp8:
      return kMinifloatMin;
    default:
      return 0;
  }
}

}  // namespace

absl::Status KeptEntries::Encode(float threshold, Slices slices, ValueType type, absl::Span<float> corrected,
                                 std::vector<std::string>* frames) {
  positions_.clear();
  SelectKept(corrected, std::max(threshold, LeastSent(type)), 0, &positions_);
  return EncodePositions(slices, type, corrected, frames);
}

absl::Status KeptEntries::EncodeSum(absl::Span<const float> gradient, absl::Span<const float> residual, float threshold, Slices slices,
                                    ValueType type, absl::Span<float> corrected, std::vector<std::string>* frames, Norms* norms) {
  // At least the smallest subnormal: zeros are never kept.
  const uint32_t least_bits = std::max(BitsOfFloat(std::max(threshold, LeastSent(type))) & 0x7fffffff, 1u);
  // Squares of floats in this range neither overflow nor vanish, a chunk of them added up.
  constexpr float kSquaresMin = 1e-30f, kSquaresMax = 1e30f;
  const auto squares_of = [](float squares, absl::Span<const float> values) {
    return squares > kSquaresMin && squares < kSquaresMax ? double{squares} : SumOfSquares(values);
  };
  positions_.clear();
  uint32_t positions[kAddCompactMax + kCompactSlack];
  double gradient_squares = 0, sum_squares = 0;
  uint32_t max_bits = 0;
  for (size_t begin = 0; begin < gradient.size(); begin += kAddCompactMax) {
    const absl::Span<const float> chunk = gradient.subspan(begin, kAddCompactMax);
    const AddedAndCompacted added =
        AddAndCompact(chunk, residual.subspan(begin, chunk.size()), least_bits, static_cast<uint32_t>(begin), &corrected[begin], positions);
    positions_.insert(positions_.end(), positions, positions + added.count);
    max_bits = std::max(max_bits, added.max_bits);
    gradient_squares += squares_of(added.a_squares, chunk);
    sum_squares += squares_of(added.sum_squares, corrected.subspan(begin, chunk.size()));
  }
  if (max_bits >= kInfinityBits) return NotFinite(gradient, corrected);
  if (absl::Status status = EncodePositions(slices, type, corrected, frames); !status.ok()) return status;
  norms->gradient = std::sqrt(gradient_squares);
  // Of few entries the difference is exact enough; where most were sent, it would be of rounding errors.
  if (positions_.size() > gradient.size() / 8) {
    norms->residual = std::sqrt(SumOfSquares(corrected));
    return absl::OkStatus();
  }
  for (size_t i = 0; i < positions_.size(); ++i) {
    const double before = corrected_values_[i], after = corrected[positions_[i]];
    sum_squares += after * after - before * before;
  }
  norms->residual = std::sqrt(std::max(sum_squares, 0.0));
  return absl::OkStatus();
}

absl::Status KeptEntries::EncodeLargest(uint32_t count, Slices slices, ValueType type, absl::Span<float> corrected,
                                        std::vector<std::string>* frames) {
  least_ = SelectLargest(corrected, count, &positions_);
  const float least_sent = LeastSent(type);
  if (least_ < least_sent) {
    const auto rounds_to_zero = [&](uint32_t position) { return std::fabs(corrected[position]) < least_sent; };
    positions_.erase(std::remove_if(positions_.begin(), positions_.end(), rounds_to_zero), positions_.end());
  }
  return EncodePositions(slices, type, corrected, frames);
}

absl::Status KeptEntries::EncodePositions(Slices slices, ValueType type, absl::Span<float> corrected, std::vector<std::string>* frames) {
  corrected_values_.resize(positions_.size());
  for (size_t i = 0; i < positions_.size(); ++i) corrected_values_[i] = corrected[positions_[i]];
  const float largest = LargestValue(type);
  sent_values_.resize(positions_.size());
  std::transform(corrected_values_.begin(), corrected_values_.end(), sent_values_.begin(),
                 [largest](float value) { return std::clamp(value, -largest, largest); });

  uint32_t begin = 0;
  size_t kept_begin = 0;
  for (const uint32_t slice_end : slices.ends) {
    const uint32_t end = slice_end * slices.width;
    const size_t kept_end = std::lower_bound(positions_.begin() + kept_begin, positions_.end(), end) - positions_.begin();
    slice_positions_.resize(kept_end - kept_begin);
    std::transform(positions_.begin() + kept_begin, positions_.begin() + kept_end, slice_positions_.begin(),
                   [begin](uint32_t position) { return position - begin; });
    const absl::Span<float> sent = absl::MakeSpan(sent_values_).subspan(kept_begin, kept_end - kept_begin);
    RoundValues(type, sent);
    if (absl::Status status = EncodeSparse(end - begin, slice_positions_, sent, type, &frames->emplace_back()); !status.ok()) return status;
    begin = end;
    kept_begin = kept_end;
  }
  for (size_t i = 0; i < positions_.size(); ++i) corrected[positions_[i]] -= sent_values_[i];
  return absl::OkStatus();
}

void KeptEntries::PutBack(absl::Span<float> corrected) const {
  for (size_t i = 0; i < positions_.size(); ++i) corrected[positions_[i]] = corrected_values_[i];
}

}  // namespace weir::compression
