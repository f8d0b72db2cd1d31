#include "compression/rounded_layer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/kept_entries.h"
#include "compression/vector_kernels.h"

namespace weir::compression {

absl::Status RoundedLayer::Encode(absl::Span<const float> gradient, uint32_t, absl::Span<const uint32_t> slice_ends,
                                  std::vector<std::string>* frames) {
  if (pending_) return absl::FailedPreconditionError("the encoding before was neither committed nor rolled back");
  if (gradient.size() != size_) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of ", gradient.size(), " entries for a layer of ", size_));
  }
  WEIR_RETURN_IF_ERROR(CheckSlices(slice_ends, gradient.size(), 1));
  if (MaxMagnitudeBits(gradient) >= kInfinityBits) return NotFinite(gradient, gradient);
  frames->clear();
  uint32_t begin = 0;
  for (const uint32_t end : slice_ends) {
    WEIR_RETURN_IF_ERROR(EncodeDense(gradient.subspan(begin, end - begin), values_, &frames->emplace_back()));
    begin = end;
  }
  pending_ = true;
  stats_.entries = stats_.kept = gradient.size();
  stats_.gradient_norm = std::sqrt(SumOfSquares(gradient));
  return absl::OkStatus();
}

}  // namespace weir::compression
