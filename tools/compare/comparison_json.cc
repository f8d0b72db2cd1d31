#include "tools/compare/comparison_json.h"

#include <cmath>
#include <optional>

#include "nlohmann/json.hpp"
#include "tools/compare/arm_figures.h"

namespace weir::tools {
namespace {

// Keeps fields in the order in which they are set.
using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<double>& value) { return value.has_value() && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

Json MeanJson(const MeanSpread& value) { return {{"mean", OrNull(value.mean)}, {"spread", OrNull(value.spread)}}; }

Json QualityJson(const Quality& quality) {
  Json json = MeanJson(quality.here);
  json["difference"] = OrNull(quality.difference.mean);
  json["difference_spread"] = OrNull(quality.difference.spread);
  json["relative"] = OrNull(quality.relative);
  json["p"] = OrNull(quality.p);
  json["test"] = quality.p.has_value() ? Json(quality.paired ? "paired t" : "Welch t") : Json(nullptr);
  return json;
}

Json RunJson(const Cell& cell) {
  Json json = {{"seed", cell.seed}, {"folder", cell.folder}};
  if (cell.state == Cell::State::kToRun) json["state"] = "to run";
  if (cell.state == Cell::State::kFailed) {
    json["state"] = "failed";
    json["reason"] = cell.reason;
  }
  if (cell.state != Cell::State::kDone) return json;
  const RunResult& result = cell.result;
  json["state"] = "done";
  json["job_hash"] = result.job_hash;
  json["logloss"] = OrNull(result.logloss);
  json["ne"] = OrNull(result.ne);
  json["auc"] = OrNull(result.auc);
  json["seconds"] = result.seconds;
  json["samples_per_second"] = OrNull(result.samples_per_second);
  json["samples"] = result.samples;
  // Not 0 bytes a sample, but none.
  const double samples = result.samples == 0 ? NAN : static_cast<double>(result.samples);
  json["bytes_per_sample"] = OrNull(static_cast<double>(TotalBytes(result.training_bytes)) / samples);
  return json;
}

Json BytesJson(const ArmFigures& figures) {
  Json json = Json::object();
  for (size_t edge = 0; edge < kEdgeCount; ++edge) json[std::string(kEdgeNames[edge])] = OrNull(figures.edge_bytes[edge]);
  json["all"] = OrNull(figures.bytes);
  return json;
}

Json ArmJson(const Arm& arm, const ArmFigures& figures) {
  Json runs = Json::array();
  for (const Cell& cell : arm.cells) runs.push_back(RunJson(cell));
  return {
      {"name", arm.name},
      {"sets", arm.sets},
      {"yardstick", arm.yardstick},
      {"same", arm.same},
      {"refused", arm.refused.empty() ? Json(nullptr) : Json(arm.refused)},
      {"finished", figures.finished},
      {"pareto", figures.pareto},
      {"logloss", QualityJson(figures.logloss)},
      {"ne", QualityJson(figures.ne)},
      {"auc", QualityJson(figures.auc)},
      {"seconds", MeanJson(figures.seconds)},
      {"samples_per_second", MeanJson(figures.samples_per_second)},
      {"bytes_per_sample", BytesJson(figures)},
      {"runs", std::move(runs)},
  };
}

}  // namespace

std::string ComparisonJson(const Comparison& comparison) {
  const Figures figures = FiguresOf(comparison);
  Json arms = Json::array();
  for (size_t i = 0; i < comparison.arms.size(); ++i) arms.push_back(ArmJson(comparison.arms[i], figures.arms[i]));
  Json references = Json::array();
  for (const size_t reference : figures.references) references.push_back(comparison.arms[reference].name);
  const Json json = {
      {"job", comparison.job},
      {"job_file", comparison.job_file},
      {"sets", comparison.sets},
      {"varied", comparison.varied},
      {"seeds", comparison.seeds},
      {"base", comparison.arms[figures.base].name},
      {"references", std::move(references)},
      {"arms", std::move(arms)},
  };
  return json.dump(1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace weir::tools
