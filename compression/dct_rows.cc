#include "compression/dct_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/threshold.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

// How many rows ahead memory is asked for: enough to cover its latency, few enough for the processor's outstanding misses.
constexpr size_t kAhead = 12;
// Residuals grow in blocks, so that no step pays for moving all of them.
constexpr uint32_t kBlockRows = 4096;

bool AllZero(const float* row, uint32_t dim) {
  return std::all_of(row, row + dim, [](float value) { return value == 0; });
}

}  // namespace

DctRows::DctRows(uint32_t dim, DctOptions options) : dim_(dim), options_(options), sparsity_(options.sparsity) {}

void DctRows::SetDensityFactor(double factor) {
  sparsity_ = RelaxedSparsity(options_.sparsity, factor);
  renew_ = true;
}

void DctRows::VisitState(StateVisitor* state) {
  state->Number("step", &step_);
  state->Real("sparsity", &sparsity_);
  state->Flag("renew", &renew_);
  state->Real("threshold", &threshold_);
  KeyedRows residuals;
  if (!state->restoring()) {
    residuals.keys.reserve(slot_of_key_.size());
    residuals.values.reserve(slot_of_key_.size() * dim_);
    for (const auto& [key, slot] : slot_of_key_) {
      residuals.keys.push_back(key);
      residuals.values.insert(residuals.values.end(), Row(slot), Row(slot) + dim_);
    }
  }
  state->ResidualRows("residual", dim_, &residuals);
  if (!state->restoring()) return;
  slot_of_key_.clear();
  blocks_.clear();
  free_slots_.clear();
  for (size_t i = 0; i < residuals.keys.size(); ++i) {
    const uint32_t slot = NewSlot();
    slot_of_key_[residuals.keys[i]] = slot;
    std::copy_n(residuals.values.begin() + static_cast<ptrdiff_t>(i * dim_), dim_, Row(slot));
  }
}

float* DctRows::Row(uint32_t slot) { return blocks_[slot / kBlockRows].get() + size_t{slot % kBlockRows} * dim_; }
const float* DctRows::Row(uint32_t slot) const { return blocks_[slot / kBlockRows].get() + size_t{slot % kBlockRows} * dim_; }

void DctRows::FindSlots() {
  slots_.resize(keys_.size());
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (i + kAhead < keys_.size()) slot_of_key_.prefetch(keys_[i + kAhead]);
    const auto found = slot_of_key_.find(keys_[i]);
    slots_[i] = found == slot_of_key_.end() ? kNoSlot : found->second;
  }
}

uint32_t DctRows::AddResiduals(absl::Span<const float> gradients) {
  corrected_.resize(gradients.size());
  std::copy(gradients.begin(), gradients.end(), corrected_.begin());
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (i + kAhead < slots_.size() && slots_[i + kAhead] != kNoSlot) __builtin_prefetch(Row(slots_[i + kAhead]));
    if (slots_[i] == kNoSlot) continue;
    const float* residual = Row(slots_[i]);
    float* row = &corrected_[i * dim_];
    for (uint32_t j = 0; j < dim_; ++j) row[j] += residual[j];
  }
  return MaxMagnitudeBits(corrected_);
}

absl::Status DctRows::Encode(absl::Span<const Key> keys, absl::Span<const float> gradients, absl::Span<const uint32_t> slice_ends,
                             std::vector<std::string>* frames) {
  if (pending_) return absl::FailedPreconditionError("the encoding before was neither committed nor rolled back");
  if (gradients.size() != keys.size() * dim_ || gradients.size() > UINT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(gradients.size(), " gradients for ", keys.size(), " keys of width ", dim_));
  }
  WEIR_RETURN_IF_ERROR(CheckSlices(slice_ends, keys.size(), dim_));
  keys_.assign(keys.begin(), keys.end());
  FindSlots();
  if (AddResiduals(gradients) >= kInfinityBits) return NotFinite(gradients, corrected_);

  const bool refresh = (renew_ || step_ % std::max(options_.refresh_every, 1u) == 0) && !keys.empty();
  const float threshold = refresh ? MagnitudeThreshold(corrected_, sparsity_) : threshold_;
  const size_t frames_before = frames->size();
  if (absl::Status status = kept_.Encode(threshold, {slice_ends, dim_}, options_.values, absl::MakeSpan(corrected_), frames);
      !status.ok()) {
    frames->resize(frames_before);
    return status;
  }

  threshold_ = threshold;
  if (refresh) renew_ = false;
  if (!keys.empty()) ++step_;
  pending_ = true;
  stats_ = {gradients.size(), kept_.size(), threshold, std::sqrt(SumOfSquares(corrected_)), std::sqrt(SumOfSquares(gradients)),
            1 - sparsity_};
  return absl::OkStatus();
}

void DctRows::Commit() {
  if (!pending_) return;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (i + kAhead < keys_.size()) {
      const uint32_t slot = slots_[i + kAhead];
      slot == kNoSlot ? slot_of_key_.prefetch(keys_[i + kAhead]) : __builtin_prefetch(Row(slot), 1);
    }
    Store(i);
  }
  pending_ = false;
}

void DctRows::Rollback() {
  if (pending_) kept_.PutBack(absl::MakeSpan(corrected_));
  Commit();
}

void DctRows::Store(size_t index) {
  const float* row = &corrected_[index * dim_];
  uint32_t slot = slots_[index];
  if (AllZero(row, dim_)) {
    if (slot != kNoSlot && slot_of_key_.erase(keys_[index]) == 1) free_slots_.push_back(slot);
    return;
  }
  if (slot == kNoSlot) {
    slot = NewSlot();
    slot_of_key_[keys_[index]] = slot;
  }
  std::memcpy(Row(slot), row, dim_ * sizeof(float));
}

uint32_t DctRows::NewSlot() {
  if (free_slots_.empty()) {
    const uint32_t first = static_cast<uint32_t>(blocks_.size()) * kBlockRows;
    blocks_.push_back(std::make_unique<float[]>(size_t{kBlockRows} * dim_));
    for (uint32_t i = kBlockRows; i > 0; --i) free_slots_.push_back(first + i - 1);
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

absl::Span<const float> DctRows::residual(Key key) const {
  const auto found = slot_of_key_.find(key);
  if (found == slot_of_key_.end()) return {};
  return absl::MakeConstSpan(Row(found->second), dim_);
}

}  // namespace weir::compression
