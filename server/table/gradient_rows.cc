#include "server/table/gradient_rows.h"

#include <algorithm>
#include <cstring>

#include "base/key_index.h"

namespace weir::server {
namespace {

enum class RowContent { kZero, kUsable, kNotFinite };

// On the bits, so that the compiler can vectorise it.
RowContent Inspect(const float* row, uint32_t dim) {
  constexpr uint32_t kMagnitude = 0x7fffffff;
  constexpr uint32_t kInfinity = 0x7f800000;
  uint32_t any = 0;
  uint32_t not_finite = 0;
  for (uint32_t i = 0; i < dim; ++i) {
    uint32_t bits;
    std::memcpy(&bits, row + i, sizeof(bits));
    const uint32_t magnitude = bits & kMagnitude;
    any |= magnitude;
    not_finite |= static_cast<uint32_t>(magnitude >= kInfinity);
  }
  if (not_finite != 0) return RowContent::kNotFinite;
  return any != 0 ? RowContent::kUsable : RowContent::kZero;
}

}  // namespace

void DropUnusableRows(uint32_t dim, GradientRows* rows, std::vector<Key>* not_finite) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->keys.size(); ++i) {
    const float* const row = rows->gradients.data() + i * dim;
    const RowContent content = Inspect(row, dim);
    if (content == RowContent::kNotFinite) not_finite->push_back(rows->keys[i]);
    if (content != RowContent::kUsable) continue;
    if (kept != i) {
      rows->keys[kept] = rows->keys[i];
      std::copy(row, row + dim, rows->gradients.data() + kept * dim);
    }
    ++kept;
  }
  rows->keys.resize(kept);
  rows->gradients.resize(kept * dim);
}

GradientRows SumByKey(uint32_t dim, absl::Span<const GradientRows* const> parts, std::vector<Key>* not_finite) {
  size_t keys_max = 0;
  for (const GradientRows* part : parts) keys_max += part->keys.size();
  GradientRows sum;
  sum.table = parts.empty() ? 0 : parts[0]->table;
  sum.distinct = true;
  sum.gradients.reserve(keys_max * dim);
  uint32_t rows = 0;
  KeyIndex index;
  index.Start(keys_max);
  for (const GradientRows* part : parts) {
    for (size_t i = 0; i < part->keys.size(); ++i) {
      const float* const gradient = part->gradients.data() + i * dim;
      const uint32_t row = index.Number(part->keys[i], Mix64(part->keys[i]));
      if (row == rows) {
        sum.gradients.insert(sum.gradients.end(), gradient, gradient + dim);
        ++rows;
        continue;
      }
      float* const total = sum.gradients.data() + size_t{row} * dim;
      for (uint32_t d = 0; d < dim; ++d) total[d] += gradient[d];
    }
  }
  sum.keys = index.keys();
  DropUnusableRows(dim, &sum, not_finite);
  return sum;
}

}  // namespace weir::server
