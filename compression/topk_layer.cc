#include "compression/topk_layer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/vector_kernels.h"

namespace weir::compression {

uint32_t CountKept(uint32_t size, double sparsity) {
  const long long rounded = std::llround((1 - sparsity) * size);
  return static_cast<uint32_t>(std::clamp<long long>(rounded, 1, std::max(size, 1u)));
}

TopkLayer::TopkLayer(uint32_t size, uint32_t min_elements, TopkOptions options)
    : sparsity_(size < min_elements ? 0 : options.sparsity),
      count_(CountKept(size, sparsity_)),
      values_(options.values),
      residual_(size),
      corrected_(size) {}

void TopkLayer::SetDensityFactor(double factor) {
  count_ = CountKept(static_cast<uint32_t>(residual_.size()), RelaxedSparsity(sparsity_, factor));
}

void TopkLayer::VisitState(StateVisitor* state) {
  uint64_t count = count_;
  state->Number("count", &count);
  count_ = static_cast<uint32_t>(std::min<uint64_t>(count, residual_.size()));
  state->Residual("residual", absl::MakeSpan(residual_));
}

absl::Status TopkLayer::Encode(absl::Span<const float> gradient, uint32_t, absl::Span<const uint32_t> slice_ends,
                               std::vector<std::string>* frames) {
  if (pending_) return absl::FailedPreconditionError("the encoding before was neither committed nor rolled back");
  if (gradient.size() != residual_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of ", gradient.size(), " entries for a layer of ", residual_.size()));
  }
  WEIR_RETURN_IF_ERROR(CheckSlices(slice_ends, gradient.size(), 1));
  if (AddInto(gradient, residual_, corrected_.data()) >= kInfinityBits) return NotFinite(gradient, corrected_);
  frames->clear();
  WEIR_RETURN_IF_ERROR(kept_.EncodeLargest(count_, {slice_ends, 1}, values_, absl::MakeSpan(corrected_), frames));
  pending_ = true;
  stats_ = {gradient.size(),
            kept_.size(),
            kept_.least(),
            std::sqrt(SumOfSquares(corrected_)),
            std::sqrt(SumOfSquares(gradient)),
            static_cast<double>(count_) / static_cast<double>(gradient.size())};
  return absl::OkStatus();
}

void TopkLayer::Commit() {
  if (pending_) residual_.swap(corrected_);
  pending_ = false;
}

void TopkLayer::Rollback() {
  if (pending_) kept_.PutBack(absl::MakeSpan(corrected_));
  Commit();
}

}  // namespace weir::compression
