#include "compression/dgc_layer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/topk_layer.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

constexpr uint64_t kWarmupParts = 4;
constexpr double kWarmupDensity = 0.25;  // of the first part; each part multiplies by it once more

}  // namespace

DgcLayer::DgcLayer(uint32_t size, uint32_t min_elements, DgcOptions options)
    : options_(options),
      whole_(size < min_elements || options.sparsity == 0),
      velocity_(size),
      residual_(size),
      next_velocity_(size),
      corrected_(size) {}

double DgcLayer::SparsityAt(uint64_t step) const {
  if (whole_) return 0;
  if (step >= options_.warmup_steps) return options_.sparsity;
  // In double: a schedule of 2^62 steps does not overflow.
  const double part = std::floor(static_cast<double>(step) * kWarmupParts / static_cast<double>(options_.warmup_steps));
  return std::min(options_.sparsity, 1 - std::pow(kWarmupDensity, part + 1));
}

float DgcLayer::ClipFactor(double norm, uint32_t samples) const {
  const double limit = options_.clip_norm * std::sqrt(options_.workers) * samples;
  return options_.clip_norm > 0 && norm > limit ? static_cast<float>(limit / norm) : 1;
}

absl::Status DgcLayer::Encode(absl::Span<const float> gradient, uint32_t samples, absl::Span<const uint32_t> slice_ends,
                              std::vector<std::string>* frames) {
  if (pending_) return absl::FailedPreconditionError("the encoding before was neither committed nor rolled back");
  if (gradient.size() != residual_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of ", gradient.size(), " entries for a layer of ", residual_.size()));
  }
  WEIR_RETURN_IF_ERROR(CheckSlices(slice_ends, gradient.size(), 1));
  const double norm = std::sqrt(SumOfSquares(gradient));
  const float factor = ClipFactor(norm, samples);
  const float momentum = static_cast<float>(options_.momentum);
  std::transform(velocity_.begin(), velocity_.end(), gradient.begin(), next_velocity_.begin(),
                 [=](float u, float g) { return momentum * u + factor * g; });
  if (AddInto(next_velocity_, residual_, corrected_.data()) >= kInfinityBits) return NotFinite(gradient, corrected_);
  frames->clear();
  const uint32_t count = CountKept(static_cast<uint32_t>(gradient.size()), RelaxedSparsity(SparsityAt(step_), density_factor_));
  WEIR_RETURN_IF_ERROR(kept_.EncodeLargest(count, {slice_ends, 1}, options_.values, absl::MakeSpan(corrected_), frames));
  ++step_;
  pending_ = true;
  stats_ = {gradient.size(),
            kept_.size(),
            kept_.least(),
            std::sqrt(SumOfSquares(corrected_)),
            norm,
            static_cast<double>(count) / static_cast<double>(gradient.size())};
  return absl::OkStatus();
}

void DgcLayer::VisitState(StateVisitor* state) {
  state->Number("step", &step_);
  state->Real("density_factor", &density_factor_);
  state->Residual("velocity", absl::MakeSpan(velocity_));  // of the same gradients as the residual
  state->Residual("residual", absl::MakeSpan(residual_));
}

void DgcLayer::Commit() {
  if (!pending_) return;
  velocity_.swap(next_velocity_);
  residual_.swap(corrected_);
  if (!whole_) {
    for (const uint32_t position : kept_.positions()) velocity_[position] = 0;
  }
  pending_ = false;
}

void DgcLayer::Rollback() {
  if (!pending_) return;
  kept_.PutBack(absl::MakeSpan(corrected_));
  velocity_.swap(next_velocity_);
  residual_.swap(corrected_);
  pending_ = false;
}

}  // namespace weir::compression
