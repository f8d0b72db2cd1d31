// What a few runs say: mean, spread, and whether two lots of them differ by more than chance. Pure.
#ifndef WEIR_TOOLS_COMPARE_STATISTICS_H_
#define WEIR_TOOLS_COMPARE_STATISTICS_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"

namespace weir::tools {

// spread: the sample's standard deviation, with count - 1 below. Both NaN where there are too few values to have one.
struct MeanSpread {
  size_t count = 0;
  double mean = 0;
  double spread = 0;
};

MeanSpread MeanAndSpread(absl::Span<const double> values);

// Probability that a variable of Student's distribution with `degrees` > 0 degrees of freedom, whole or not, lies at least as far from 0 as
// `t`. To about 1e-12.
double StudentTwoSided(double t, double degrees);

// Two-sided p-value of Student's paired t-test: that differences a[i] - b[i] like these come from pairs that do not differ. None with fewer
// than two pairs. Differences that are all the same leave nothing to chance: 1 when they are 0, else 0. REQUIRES: as many a as b.
std::optional<double> PairedTTest(absl::Span<const double> a, absl::Span<const double> b);

// Two-sided p-value of Welch's t-test, for lots without pairs that may spread differently. None with fewer than two values in one of them.
std::optional<double> WelchTTest(absl::Span<const double> a, absl::Span<const double> b);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_STATISTICS_H_
