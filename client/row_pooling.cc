#include "client/row_pooling.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace weir::client {
namespace {

// The compiler vectorises loops of a constant length.
constexpr uint32_t kLanes = 8;

inline void Add(uint32_t dim, const float* __restrict source, float* __restrict target) {
  uint32_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) target[i + lane] += source[i + lane];
  }
  for (; i < dim; ++i) target[i] += source[i];
}

inline void Copy(uint32_t dim, const float* __restrict source, float* __restrict target) {
  std::memcpy(target, source, dim * sizeof(float));
}

}  // namespace

void AddRow(uint32_t dim, const float* source, float* target) { Add(dim, source, target); }

void PoolRows(const BagBatch& batch, uint32_t dim, absl::Span<const float> rows, absl::Span<float> pooled) {
  const size_t stride = batch.features.size() * dim;
  for (size_t feature = 0; feature < batch.features.size(); ++feature) {
    const FeaturePlace& place = batch.features[feature];
    const TableBatch& table = batch.tables[place.batch];
    const uint32_t* const slot_of = table.keys.slot_of.data();
    const float* const table_rows = rows.data() + table.first_row * dim;
    float* target = pooled.data() + feature * dim;
    if (place.ends.empty()) {
      const uint32_t* const slots = slot_of + place.first;
      for (uint32_t sample = 0; sample < batch.samples; ++sample, target += stride)
        Copy(dim, table_rows + size_t{slots[sample]} * dim, target);
      continue;
    }
    for (uint32_t sample = 0; sample < batch.samples; ++sample, target += stride) {
      std::fill_n(target, dim, 0.0f);
      for (uint32_t i = place.bag_begin(sample); i < place.bag_end(sample); ++i) Add(dim, table_rows + size_t{slot_of[i]} * dim, target);
    }
  }
}

void SumGradients(const BagBatch& batch, uint32_t dim, absl::Span<const float> gradient, absl::Span<float> row_gradients) {
  std::fill(row_gradients.begin(), row_gradients.end(), 0.0f);
  const size_t stride = batch.features.size() * dim;
  for (size_t feature = 0; feature < batch.features.size(); ++feature) {
    const FeaturePlace& place = batch.features[feature];
    const TableBatch& table = batch.tables[place.batch];
    const uint32_t* const slot_of = table.keys.slot_of.data();
    float* const table_rows = row_gradients.data() + table.first_row * dim;
    const float* source = gradient.data() + feature * dim;
    for (uint32_t sample = 0; sample < batch.samples; ++sample, source += stride) {
      for (uint32_t i = place.bag_begin(sample); i < place.bag_end(sample); ++i) Add(dim, source, table_rows + size_t{slot_of[i]} * dim);
    }
  }
}

}  // namespace weir::client
