#include "compression/dct_layer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/threshold.h"
#include "compression/vector_kernels.h"

namespace weir::compression {

double RelaxedSparsity(double sparsity, double factor) { return factor == 1 ? sparsity : 1 - std::min(1.0, factor * (1 - sparsity)); }

DctLayer::DctLayer(uint32_t size, uint32_t min_elements, DctOptions options)
    : options_(options), whole_(size < min_elements), sparsity_(whole_ ? 0 : options.sparsity), residual_(size), corrected_(size) {}

void DctLayer::SetDensityFactor(double factor) {
  if (!whole_) sparsity_ = RelaxedSparsity(options_.sparsity, factor);
  renew_ = true;
}

absl::Status DctLayer::Encode(absl::Span<const float> gradient, absl::Span<const uint32_t> slice_ends, std::vector<std::string>* frames) {
  if (pending_) return absl::FailedPreconditionError("the encoding before was neither committed nor rolled back");
  if (gradient.size() != residual_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of ", gradient.size(), " entries for a layer of ", residual_.size()));
  }
  WEIR_RETURN_IF_ERROR(CheckSlices(slice_ends, gradient.size(), 1));
  const bool refresh = renew_ || step_ % std::max(options_.refresh_every, 1u) == 0;
  frames->clear();
  float threshold = threshold_;
  KeptEntries::Norms norms;
  if (refresh) {
    if (AddInto(gradient, residual_, corrected_.data()) >= kInfinityBits) return NotFinite(gradient, corrected_);
    threshold = MagnitudeThreshold(corrected_, sparsity_);
    WEIR_RETURN_IF_ERROR(kept_.Encode(threshold, {slice_ends, 1}, options_.values, absl::MakeSpan(corrected_), frames));
    norms = {std::sqrt(SumOfSquares(gradient)), std::sqrt(SumOfSquares(corrected_))};
  } else {
    WEIR_RETURN_IF_ERROR(
        kept_.EncodeSum(gradient, residual_, threshold, {slice_ends, 1}, options_.values, absl::MakeSpan(corrected_), frames, &norms));
  }

  threshold_ = threshold;
  renew_ = false;
  ++step_;
  pending_ = true;
  stats_ = {gradient.size(), kept_.size(), threshold, norms.residual, norms.gradient, 1 - sparsity_};
  return absl::OkStatus();
}

void DctLayer::VisitState(StateVisitor* state) {
  state->Number("step", &step_);
  state->Real("sparsity", &sparsity_);
  state->Flag("renew", &renew_);
  state->Real("threshold", &threshold_);
  state->Residual("residual", absl::MakeSpan(residual_));
}

void DctLayer::Commit() {
  if (pending_) residual_.swap(corrected_);
  pending_ = false;
}

void DctLayer::Rollback() {
  if (pending_) kept_.PutBack(absl::MakeSpan(corrected_));
  Commit();
}

}  // namespace weir::compression
