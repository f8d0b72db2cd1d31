#include "tools/compare/pareto.h"

#include <algorithm>
#include <cmath>

namespace weir::tools {
namespace {

bool Beats(const CostAndLoss& a, const CostAndLoss& b) {
  return a.cost <= b.cost && a.loss <= b.loss && (a.cost < b.cost || a.loss < b.loss);
}

}  // namespace

std::vector<bool> ParetoFront(absl::Span<const CostAndLoss> points) {
  std::vector<bool> front;
  for (const CostAndLoss& point : points) {
    const bool known = std::isfinite(point.cost) && std::isfinite(point.loss);
    // Comparisons with NaN are false: an unknown point beats nobody.
    front.push_back(known && std::none_of(points.begin(), points.end(), [&](const CostAndLoss& other) { return Beats(other, point); }));
  }
  return front;
}

}  // namespace weir::tools
