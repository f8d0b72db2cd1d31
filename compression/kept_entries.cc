#include "compression/kept_entries.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "compression/half.h"
#include "compression/threshold.h"

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

void KeptEntries::Take(float threshold, ValueType type, absl::Span<float> corrected) {
  const bool halves = type == ValueType::kFp16;
  if (halves) threshold = std::max(threshold, std::nextafter(kHalfZeroMax, 1.0f));
  positions_.clear();
  SelectKept(corrected, threshold, 0, &positions_);
  corrected_values_.resize(positions_.size());
  sent_values_.resize(positions_.size());
  for (size_t i = 0; i < positions_.size(); ++i) {
    float& entry = corrected[positions_[i]];
    const float sent = halves ? RoundToFp16(std::clamp(entry, -kHalfMax, kHalfMax)) : entry;
    corrected_values_[i] = entry;
    sent_values_[i] = sent;
    entry -= sent;
  }
}

absl::Status KeptEntries::Encode(absl::Span<const uint32_t> slice_ends, uint32_t width, ValueType type, std::vector<std::string>* frames) {
  uint32_t begin = 0;
  auto kept_begin = positions_.begin();
  for (const uint32_t slice_end : slice_ends) {
    const uint32_t end = slice_end * width;
    const auto kept_end = std::lower_bound(kept_begin, positions_.end(), end);
    slice_positions_.resize(kept_end - kept_begin);
    std::transform(kept_begin, kept_end, slice_positions_.begin(), [begin](uint32_t position) { return position - begin; });
    const auto values = absl::MakeConstSpan(sent_values_).subspan(kept_begin - positions_.begin(), slice_positions_.size());
    if (absl::Status status = EncodeSparse(end - begin, slice_positions_, values, type, &frames->emplace_back()); !status.ok())
      return status;
    begin = end;
    kept_begin = kept_end;
  }
  return absl::OkStatus();
}

void KeptEntries::PutBack(absl::Span<float> corrected) const {
  for (size_t i = 0; i < positions_.size(); ++i) corrected[positions_[i]] = corrected_values_[i];
}

}  // namespace weir::compression
