// Which arms nobody beats on both counts. Pure.
#ifndef WEIR_TOOLS_COMPARE_PARETO_H_
#define WEIR_TOOLS_COMPARE_PARETO_H_

#include <vector>

#include "absl/types/span.h"

namespace weir::tools {

// Less is better on both axes; NaN: not known.
struct CostAndLoss {
  double cost = 0;
  double loss = 0;
};

// For each point whether it is on the Pareto front: no other is at most as large on both axes and smaller on one. Points that are the same
// stand or fall together; one that is not known is never on it, and beats nobody.
std::vector<bool> ParetoFront(absl::Span<const CostAndLoss> points);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_PARETO_H_
