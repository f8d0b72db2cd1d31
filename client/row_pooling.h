// Rows to pooled vectors, and gradients of pooled vectors to gradients of rows. The worker's inner loops. Pure.
#ifndef WEIR_CLIENT_ROW_POOLING_H_
#define WEIR_CLIENT_ROW_POOLING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "client/bag_batch.h"

namespace weir::client {

// target[i] += source[i]. REQUIRES: the arrays do not overlap.
void AddRow(uint32_t dim, const float* source, float* target);

// pooled[(sample * features + feature) * dim, +dim) = sum of the bag's rows in the order of its keys, zeros for an empty bag.
// rows: batch.rows x dim.
void PoolRows(const BagBatch& batch, uint32_t dim, absl::Span<const float> rows, absl::Span<float> pooled);

// Replaces row_gradients (batch.rows x dim) by the sums of the gradients of all bags that each row is in, in the order of features and,
// within them, samples. gradient: as pooled.
void SumGradients(const BagBatch& batch, uint32_t dim, absl::Span<const float> gradient, absl::Span<float> row_gradients);

}  // namespace weir::client

#endif  // WEIR_CLIENT_ROW_POOLING_H_
