#include <cmath>

#include "cuda/select_kept_kernel.h"

namespace weir::cuda {

absl::StatusOr<SelectKeptResult> RunSelectKept(const SelectKeptArrays& arrays) {
  SelectKeptResult result;
  for (; result.finite < arrays.size; ++result.finite) {
    const size_t i = result.finite;
    const float sum = arrays.gradient[i] + arrays.residual[i];
    if (!std::isfinite(sum)) break;
    const bool keep = std::fabs(sum) >= arrays.threshold && sum != 0;
    arrays.unsent[i] = keep ? 0 : sum;
    if (!keep) continue;
    arrays.positions[result.kept] = static_cast<uint32_t>(i);
    arrays.values[result.kept] = sum;
    ++result.kept;
  }
  return result;
}

}  // namespace weir::cuda
