// What `weir bench` found, as a table and as a file that a later run is compared with.
#ifndef WEIR_TOOLS_BENCH_BENCH_RESULT_H_
#define WEIR_TOOLS_BENCH_BENCH_RESULT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/bench/machine.h"
#include "tools/bench/scenario.h"

namespace weir::tools {

struct ScenarioResult {
  Scenario scenario;
  double value = 0;
  double other = 0;
  std::string missing;  // why there are no numbers; empty: there are

  double ratio() const { return value / other; }
};

struct BenchResult {
  Machine machine;
  std::vector<ScenarioResult> scenarios;
};

// {machine: {...}, scenarios: [{name, value, unit, against, other, ratio, floor, aim, missing}]}; no numbers where `missing` says why.
std::string BenchJson(const BenchResult& result);

// A ratio of an earlier run.
struct EarlierRatio {
  std::string name;
  double ratio = 0;
};
struct EarlierBench {
  std::string machine;
  std::vector<EarlierRatio> ratios;
};
// INVALID_ARGUMENT, naming the file and the field: no document of BenchJson. NOT_FOUND: no such file.
absl::StatusOr<EarlierBench> ReadBenchJson(const std::string& path);

// A table for a terminal; `earlier` adds what the ratios were, and how far they are from it now.
std::string BenchTable(const BenchResult& result, const EarlierBench* earlier);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_BENCH_BENCH_RESULT_H_
