// From --vary to the arms of a comparison: which settings, under which names. Pure; whether a job takes the settings is
// comparison_plan.h's.
#ifndef WEIR_TOOLS_COMPARE_GRID_H_
#define WEIR_TOOLS_COMPARE_GRID_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weir::tools {

inline constexpr size_t kArmsMax = 1000;

// One --vary.
struct Axis {
  std::string key;
  std::vector<std::string> values;  // YAML
};

// "KEY=VALUE,VALUE,...": a value may be a YAML list, map or quoted text, whose commas do not separate. INVALID_ARGUMENT says what is wrong:
// no '=', an empty value, a bracket or quote that does not close, a key that the comparison sets itself (name, seed, output).
absl::StatusOr<Axis> ParseVary(absl::string_view text);

// What is compared: a job with these settings, once for each seed.
struct ArmSettings {
  std::string name;               // readable, unique, and fit for a folder
  std::vector<std::string> sets;  // "KEY=VALUE", for ReadJobFile
};

// The two arms that every comparison is held against: nothing compressed at all, and what fp16 alone gives.
std::vector<ArmSettings> YardstickArms();

// The product of all axes, the last one fastest; without axes the job as it is, named "job". INVALID_ARGUMENT: more than kArmsMax arms, a
// key that comes twice or lies within another.
absl::StatusOr<std::vector<ArmSettings>> ExpandGrid(absl::Span<const Axis> axes);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_GRID_H_
