#include "tools/compare/arm_figures.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tools/compare/pareto.h"

namespace weir::tools {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Measure = std::optional<double> RunResult::*;

// A measure by seed, of the runs that have it.
std::map<uint64_t, double> BySeed(const Arm& arm, Measure measure) {
  std::map<uint64_t, double> values;
  for (const Cell& cell : arm.cells) {
    if (cell.state == Cell::State::kDone && (cell.result.*measure).has_value()) values[cell.seed] = *(cell.result.*measure);
  }
  return values;
}

std::vector<double> Values(const std::map<uint64_t, double>& by_seed) {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed) values.push_back(value);
  return values;
}

Quality QualityOf(const Arm& arm, const Arm& base, Measure measure) {
  const std::map<uint64_t, double> here = BySeed(arm, measure);
  const std::map<uint64_t, double> there = BySeed(base, measure);
  std::vector<double> shared_here;
  std::vector<double> shared_there;
  std::vector<double> differences;
  for (const auto& [seed, value] : here) {
    const auto found = there.find(seed);
    if (found == there.end()) continue;
    shared_here.push_back(value);
    shared_there.push_back(found->second);
    differences.push_back(value - found->second);
  }
  Quality quality;
  quality.here = MeanAndSpread(Values(here));
  quality.difference = MeanAndSpread(differences);
  quality.relative = quality.difference.mean / MeanAndSpread(shared_there).mean;
  if (&arm == &base) return quality;
  quality.paired = shared_here.size() >= 2;
  quality.p = quality.paired ? PairedTTest(shared_here, shared_there) : WelchTTest(Values(here), Values(there));
  return quality;
}

template <typename Get>
MeanSpread OverRuns(const Arm& arm, Get get) {
  std::vector<double> values;
  for (const Cell& cell : arm.cells) {
    if (cell.state == Cell::State::kDone) values.push_back(get(cell.result));
  }
  return MeanAndSpread(values);
}

double PerSample(uint64_t bytes, const RunResult& result) {
  return result.samples == 0 ? kNan : static_cast<double>(bytes) / static_cast<double>(result.samples);
}

ArmFigures FiguresOfArm(const Arm& arm, const Arm& base) {
  ArmFigures figures;
  figures.logloss = QualityOf(arm, base, &RunResult::logloss);
  figures.ne = QualityOf(arm, base, &RunResult::ne);
  figures.auc = QualityOf(arm, base, &RunResult::auc);
  figures.seconds = OverRuns(arm, [](const RunResult& result) { return result.seconds; });
  figures.samples_per_second = OverRuns(arm, [](const RunResult& result) { return result.samples_per_second; });
  figures.finished = figures.seconds.count;
  for (size_t edge = 0; edge < kEdgeCount; ++edge) {
    figures.edge_bytes[edge] =
        OverRuns(arm, [edge](const RunResult& result) { return PerSample(result.training_bytes[edge], result); }).mean;
  }
  figures.bytes = OverRuns(arm, [](const RunResult& result) { return PerSample(TotalBytes(result.training_bytes), result); }).mean;
  return figures;
}

}  // namespace

Figures FiguresOf(const Comparison& comparison) {
  const std::vector<Arm>& arms = comparison.arms;
  Figures figures;
  for (size_t i = 0; i < arms.size(); ++i) {
    if (arms[i].yardstick && arms[i].refused.empty()) figures.references.push_back(i);
  }
  const auto first = std::find_if(arms.begin(), arms.end(), [](const Arm& arm) { return arm.refused.empty(); });
  figures.base = first == arms.end() ? 0 : static_cast<size_t>(first - arms.begin());
  if (figures.references.empty()) figures.references.push_back(figures.base);
  std::vector<CostAndLoss> points;
  for (const Arm& arm : arms) {
    figures.arms.push_back(FiguresOfArm(arm, arms[figures.base]));
    points.push_back({figures.arms.back().bytes, figures.arms.back().logloss.here.mean});
  }
  const std::vector<bool> front = ParetoFront(points);
  for (size_t i = 0; i < arms.size(); ++i) figures.arms[i].pareto = front[i];
  return figures;
}

}  // namespace weir::tools
