#include "tests/tools/compare/sample_comparison.h"

#include "absl/strings/str_cat.h"

namespace weir::tools {
namespace {

constexpr uint64_t kSamples = 100;

Arm EmptyArm(const std::string& name) {
  Arm arm;
  arm.name = name;
  arm.sets = {"arm=" + name};
  for (const uint64_t seed : {1, 2}) {
    Cell cell;
    cell.seed = seed;
    cell.folder = absl::StrCat(name, "-", seed);
    arm.cells.push_back(cell);
  }
  return arm;
}

void Finish(double logloss, uint64_t bytes, Cell* cell) {
  cell->state = Cell::State::kDone;
  RunResult& result = cell->result;
  result.job_hash = "00c0ffee";
  result.logloss = logloss;
  result.ne = 2 * logloss;
  result.auc = 1 - logloss;
  result.samples = kSamples;
  result.seconds = 10.0 * static_cast<double>(cell->seed);
  result.samples_per_second = static_cast<double>(kSamples) / result.seconds;
  // A half for pushes, the rest for replies; evaluation does not count.
  result.training_bytes[1] = bytes * kSamples / 2;
  result.training_bytes[2] = bytes * kSamples / 2;
  result.evaluation_bytes[1] = 1000000;
}

}  // namespace

Comparison SampleComparison() {
  Comparison comparison;
  comparison.job = "sample";
  comparison.job_file = "sample.yaml";
  comparison.varied = {"arm"};
  comparison.seeds = {1, 2};

  Arm plain = EmptyArm("plain");
  plain.yardstick = true;
  plain.same = {"arm=uncompressed"};
  Finish(0.50, 80, &plain.cells[0]);
  Finish(0.52, 80, &plain.cells[1]);
  Arm small = EmptyArm("small");
  Finish(0.51, 10, &small.cells[0]);
  Finish(0.54, 10, &small.cells[1]);
  Arm half = EmptyArm("half");
  half.cells[0].state = Cell::State::kFailed;
  half.cells[0].reason = "worker 1 was killed; the end of its log:\nlast words";
  Finish(0.53, 20, &half.cells[1]);
  Arm odd = EmptyArm("odd");
  odd.refused = "odd has no effect";
  odd.cells.clear();
  comparison.arms = {plain, small, half, EmptyArm("later"), odd};
  return comparison;
}

}  // namespace weir::tools
