// Lines of data files. A line is taken exactly when it has 40 columns and a proper label and integers; what is taken has finite values;
// what is refused has a reason that fits a log line.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "worker/criteo_line.h"

namespace weir::worker {
namespace {

void Demand(bool holds) {
  if (!holds) std::abort();
}

void CheckLine(absl::string_view line) {
  CriteoLine row;
  std::string error;
  if (!ParseCriteoLine(line, &row, &error)) {
    Demand(!error.empty() && error.size() < 500);
    return;
  }
  Demand(std::count(line.begin(), line.end(), '\t') == kCriteoColumns - 1);
  Demand(row.label == static_cast<float>(line[0] - '0'));
  for (const float value : row.dense) Demand(std::isfinite(value) && value >= 0);
  const absl::string_view last = line.substr(line.rfind('\t') + 1);
  Demand(row.keys[kCriteoCategories - 1] == CriteoKey(kCriteoCategories - 1, last));
}

}  // namespace
}  // namespace weir::worker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::worker::CheckLine({reinterpret_cast<const char*>(data), size});
  return 0;
}
