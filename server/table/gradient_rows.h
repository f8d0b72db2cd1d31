// Row gradients on their way from a push to the rows: checked, then summed for each key.
#ifndef WEIR_SERVER_TABLE_GRADIENT_ROWS_H_
#define WEIR_SERVER_TABLE_GRADIENT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/key.h"

namespace weir::server {

// Gradients of some rows of one table: gradients[i * dim, +dim) belongs to keys[i].
struct GradientRows {
  uint32_t table = 0;
  bool distinct = false;  // no key occurs twice
  std::vector<Key> keys;
  std::vector<float> gradients;
};

// Takes out the rows that say nothing (every entry is exactly zero: such a row is not updated and does not age) and those that hold NaN or
// infinity, whose keys are appended to `not_finite`. The others keep their order.
void DropUnusableRows(uint32_t dim, GradientRows* rows, std::vector<Key>* not_finite);

// One row for each key, its gradients summed in the order given: the same order, the same bits. Sums that overflow are dropped and their
// keys appended to `not_finite`; so are sums of exactly zero, silently. REQUIRES: finite gradients of one table.
GradientRows SumByKey(uint32_t dim, absl::Span<const GradientRows* const> parts, std::vector<Key>* not_finite);

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_GRADIENT_ROWS_H_
