// What the runs of a comparison say about its arms. Pure.
#ifndef WEIR_TOOLS_COMPARE_ARM_FIGURES_H_
#define WEIR_TOOLS_COMPARE_ARM_FIGURES_H_

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "tools/compare/comparison.h"
#include "tools/compare/statistics.h"

namespace weir::tools {

// One measure of quality of an arm, beside the base arm's.
struct Quality {
  MeanSpread here;
  // (arm - base) over the seeds that both have: an arm with fewer seeds is not held against another arm's luck, and what a seed does to
  // every arm alike does not hide the difference.
  MeanSpread difference;
  double relative = 0;  // its mean over the base's mean of the same seeds
  // By PairedTTest over the seeds that both have; by WelchTTest where they share fewer than two; none where neither is possible.
  std::optional<double> p;
  bool paired = false;
};

// Figures are over the arm's finished runs; NaN without any.
struct ArmFigures {
  size_t finished = 0;
  Quality logloss;
  Quality ne;
  Quality auc;
  MeanSpread seconds;             // wall time of training
  MeanSpread samples_per_second;  // trained
  // Mean bytes of training (evaluation left out) for each trained sample: all processes, both directions.
  std::array<double, kEdgeCount> edge_bytes = {};
  double bytes = 0;     // of all edges
  bool pareto = false;  // no other arm has at most its bytes and its log-loss, and less of one
};

struct Figures {
  std::vector<ArmFigures> arms;    // those of Comparison::arms, in order
  size_t base = 0;                 // the arm that the others are held against: the first that the job takes
  std::vector<size_t> references;  // the yardsticks that the job takes; without any, the base
};

Figures FiguresOf(const Comparison& comparison);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_ARM_FIGURES_H_
