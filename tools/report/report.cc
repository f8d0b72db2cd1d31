#include "tools/report/report.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/report/replace_file.h"
#include "tools/report/report_page.h"
#include "tools/report/run_folder.h"

namespace weir::tools {
namespace {

// Keeps fields in the order in which they are set: easier on who looks into the page.
using Json = nlohmann::ordered_json;

// Six digits are more than a plot shows, and a third of what 17 cost; null for what is not finite.
Json Rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(absl::StrFormat("%.6g", value).c_str(), nullptr);
}

Json OrNull(const std::optional<double>& value) { return value.has_value() ? Json(*value) : Json(nullptr); }

template <typename Get>
Json Column(const MetricsSeries& metrics, Get get) {
  Json column = Json::array();
  for (const MetricsPoint& point : metrics.points()) column.push_back(get(point));
  return column;
}

// Where the time of the workers' training threads went: seconds of all of them by phase, and the steps that waited in it.
Json TimesJson(const RunResult& result) {
  Json times = Json::array();
  for (const auto& [phase, seconds] : result.step_seconds) {
    Json waits = nullptr;
    for (const auto& [cause, steps] : result.step_waits) {
      if (phase == cause || phase == cause + "_wait") waits = steps;
    }
    times.push_back({{"phase", phase}, {"seconds", seconds}, {"waits", std::move(waits)}});
  }
  return times;
}

Json ResultJson(const RunResult& result) {
  Json edges = Json::array();
  for (size_t edge = 0; edge < kEdgeCount; ++edge) {
    edges.push_back({{"name", kEdgeNames[edge]}, {"training", result.training_bytes[edge]}, {"evaluation", result.evaluation_bytes[edge]}});
  }
  return {
      {"job", result.job},
      {"job_hash", result.job_hash},
      {"logloss", OrNull(result.logloss)},
      {"auc", OrNull(result.auc)},
      {"ne", OrNull(result.ne)},
      {"calibration", OrNull(result.calibration)},
      {"ctr", OrNull(result.ctr)},
      {"evaluation_samples", result.evaluation_samples},
      {"samples", result.samples},
      {"steps", result.steps},
      {"seconds", result.seconds},
      {"samples_per_second", result.samples_per_second},
      {"edges", std::move(edges)},
      {"fingerprint", result.fingerprint},
      {"rows_held", result.rows_held},
      {"bad_rows", result.bad_rows},
      {"wait_seconds", result.wait_seconds},
      {"workers", result.workers},
      {"servers", result.servers},
  };
}

Json CourseJson(const MetricsSeries& metrics) {
  Json wire_bytes = Json::object();
  for (size_t edge = 0; edge < kEdgeCount; ++edge) {
    wire_bytes[std::string(kEdgeNames[edge])] = Column(metrics, [edge](const MetricsPoint& point) { return point.wire_bytes[edge]; });
  }
  return {
      {"seconds", Column(metrics, [](const MetricsPoint& point) { return Rounded(point.seconds); })},
      {"samples", Column(metrics, [](const MetricsPoint& point) { return point.samples; })},
      {"logloss", Column(metrics, [](const MetricsPoint& point) { return Rounded(point.logloss); })},
      {"auc", Column(metrics, [](const MetricsPoint& point) { return Rounded(point.auc); })},
      {"samples_per_second", Column(metrics, [](const MetricsPoint& point) { return Rounded(point.samples_per_second); })},
      {"wait_seconds", Column(metrics, [](const MetricsPoint& point) { return Rounded(point.wait_seconds); })},
      {"wire_bytes", std::move(wire_bytes)},
  };
}

Json CodecsJson(const MetricsSeries& metrics) {
  Json codecs = Json::array();
  for (size_t i = 0; i < metrics.codecs().size(); ++i) {
    const auto column = [&](float CodecFigures::*figure) {
      return Column(metrics,
                    [&](const MetricsPoint& point) { return i < point.codecs.size() ? Rounded(point.codecs[i].*figure) : Json(nullptr); });
    };
    codecs.push_back({
        {"edge", metrics.codecs()[i].edge},
        {"name", metrics.codecs()[i].name},
        {"density", column(&CodecFigures::density)},
        {"threshold", column(&CodecFigures::threshold)},
        {"residual_ratio", column(&CodecFigures::residual_ratio)},
    });
  }
  return codecs;
}

Json GuardJson(const std::vector<GuardFinding>& guard) {
  Json findings = Json::array();
  for (const GuardFinding& finding : guard) {
    findings.push_back({{"worker", finding.worker},
                        {"step", finding.step},
                        {"edge", finding.edge},
                        {"cost", Rounded(finding.cost)},
                        {"before", finding.sparsity_before},
                        {"after", finding.sparsity_after}});
  }
  return findings;
}

// JSON that cannot end the script element that it stands in, whatever names and configuration hold.
std::string DataOf(const RunFolder& run) {
  Json data = {
      {"result", ResultJson(run.result)},
      {"times", TimesJson(run.result)},
      {"course", CourseJson(run.metrics)},
      {"codecs", CodecsJson(run.metrics)},
      {"guard", GuardJson(run.guard)},
      {"teacher", nullptr},
      {"config", run.config},
  };
  if (run.teacher.has_value()) data["teacher"] = {{"logloss", run.teacher->logloss}, {"auc", run.teacher->auc}};
  return absl::StrReplaceAll(data.dump(-1, ' ', true, Json::error_handler_t::replace), {{"<", "\\u003c"}});
}

}  // namespace

absl::Status WriteReport(const std::string& run_dir) {
  WEIR_ASSIGN_OR_RETURN(const RunFolder run, ReadRunFolder(run_dir));
  const std::string path = (std::filesystem::path(run_dir) / "report.html").string();
  return ReplaceFile(path, {kPageBeforeData, DataOf(run), kPageAfterData});
}

}  // namespace weir::tools
