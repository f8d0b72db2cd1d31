#include "server/service/held_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/key_codec.h"
#include "compression/packed_bytes.h"
#include "compression/row_changes.h"

namespace weir::server {

absl::StatusOr<HeldNumbers> DecodeHeldNumbers(const HeldRows& held, TableKeys::Coding coding, uint64_t new_rows, uint64_t rows_max) {
  if (held.count() > rows_max || held.first_new() + new_rows > rows_max) {
    return absl::InvalidArgumentError(absl::StrCat("held: ", held.count(), " rows and ", new_rows, " new ones from number ",
                                                   held.first_new(), "; a worker holds at most ", rows_max,
                                                   " rows of a table (compression.lookup.cache_rows)"));
  }
  HeldNumbers decoded;
  decoded.generation = held.generation();
  decoded.first_new = held.first_new();
  const absl::StatusOr<std::vector<Key>> numbers = coding == TableKeys::CODING_SORTED_RICE
                                                       ? compression::DecodeKeysRice(held.numbers(), held.count())
                                                       : compression::DecodeKeysSorted(held.numbers(), held.count());
  if (!numbers.ok()) return absl::InvalidArgumentError(absl::StrCat("held.numbers: ", numbers.status().message()));
  if (!numbers->empty() && numbers->back() >= rows_max) {
    return absl::InvalidArgumentError(absl::StrCat("held.numbers: ", numbers->back(), ", at most ", rows_max - 1));
  }
  decoded.numbers.assign(numbers->begin(), numbers->end());
  return decoded;
}

absl::Status WorkerTable::Resolve(const HeldNumbers& held, CallKeys* keys) {
  if (held.generation < generation_) {
    return absl::FailedPreconditionError(
        absl::StrCat("held.generation: ", held.generation, " is forgotten, the worker has begun ", generation_));
  }
  if (held.generation > generation_) {
    generation_ = held.generation;
    keys_.clear();
    known_.clear();
    values_.clear();
  }
  dim_ = keys->table->dim();
  const std::vector<Key> added = std::move(keys->keys);
  keys->keys.clear();
  keys->keys.reserve(held.numbers.size() + added.size());
  for (const uint32_t number : held.numbers) {
    if (number >= known_.size() || !known_[number]) {
      return absl::FailedPreconditionError(absl::StrCat("held.numbers: this server knows no row ", number, " of generation ", generation_));
    }
    keys->keys.push_back(keys_[number]);
  }
  // Parts of a step may overtake each other, but not by more than a call of rows.
  if (held.first_new > keys_.size() + kKeysPerTableCallMax) {
    return absl::FailedPreconditionError(
        absl::StrCat("held.first_new: ", held.first_new, ", but the last row that this server knows is ", keys_.size()));
  }
  const size_t end = size_t{held.first_new} + added.size();
  if (keys_.size() < end) {
    keys_.resize(end);
    known_.resize(end, false);
    values_.resize(end * dim_);
  }
  std::copy(added.begin(), added.end(), keys_.begin() + held.first_new);
  std::fill(known_.begin() + held.first_new, known_.begin() + end, true);
  keys->keys.insert(keys->keys.end(), added.begin(), added.end());
  keys->distinct = false;  // a worker may name one key under two numbers; nobody looked
  return absl::OkStatus();
}

absl::Status WorkerTable::Encode(const HeldNumbers& held, absl::Span<const float> rows, absl::Span<const uint32_t> initial,
                                 const RowAnswer& how, TableRows* answer) {
  const absl::Span<const float> known = rows.subspan(0, held.numbers.size() * dim_);
  if (!known.empty()) {
    std::vector<float> before(known.size());
    for (size_t i = 0; i < held.numbers.size(); ++i) std::copy_n(&values_[size_t{held.numbers[i]} * dim_], dim_, &before[i * dim_]);
    WEIR_RETURN_IF_ERROR(compression::EncodeRowChanges(known, how.changes, absl::MakeSpan(before), answer->mutable_changes()));
    for (size_t i = 0; i < held.numbers.size(); ++i) std::copy_n(&before[i * dim_], dim_, &values_[size_t{held.numbers[i]} * dim_]);
    if (how.pack) compression::PackFrame(answer->mutable_changes());
  }
  const absl::Span<const float> added = rows.subspan(known.size());
  if (added.empty()) return absl::OkStatus();
  std::vector<bool> is_initial(added.size() / dim_, false);
  for (const uint32_t position : initial) {
    if (position >= held.numbers.size()) is_initial[position - held.numbers.size()] = true;
  }
  return EncodeAdded(held, added, is_initial, how, answer);
}

absl::Status WorkerTable::EncodeAdded(const HeldNumbers& held, absl::Span<const float> rows, const std::vector<bool>& initial,
                                      const RowAnswer& how, TableRows* answer) {
  const absl::Span<float> values = absl::MakeSpan(values_).subspan(size_t{held.first_new} * dim_, rows.size());
  std::copy(rows.begin(), rows.end(), values.begin());
  std::vector<uint8_t> bits((initial.size() + 7) / 8, 0);
  std::vector<float> updated;
  for (size_t i = 0; i < initial.size(); ++i) {
    if (initial[i]) {
      bits[i / 8] |= 1u << i % 8;
    } else {
      updated.insert(updated.end(), rows.begin() + i * dim_, rows.begin() + (i + 1) * dim_);
    }
  }
  if (updated.size() < rows.size()) compression::AppendSection(bits, answer->mutable_initial_rows());
  if (updated.empty()) return absl::OkStatus();
  // A whole row has no residual to take up what fp8 would lose.
  const compression::ValueType type =
      how.changes.values == compression::ValueType::kFp8 ? compression::ValueType::kInt8 : how.changes.values;
  WEIR_RETURN_IF_ERROR(compression::EncodeDense(updated, type, answer->mutable_frame(), dim_));
  if (how.pack) compression::PackFrame(answer->mutable_frame());
  WEIR_RETURN_IF_ERROR(compression::DecodeInto(answer->frame(), absl::MakeSpan(updated)));
  for (size_t i = 0, next = 0; i < initial.size(); ++i) {
    if (!initial[i]) std::copy_n(&updated[dim_ * next++], dim_, &values[i * dim_]);
  }
  return absl::OkStatus();
}

}  // namespace weir::server
