#include "tools/compare/comparison_table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/compare/arm_figures.h"
#include "tools/report/human_units.h"
#include "tools/report/text_table.h"

namespace weir::tools {
namespace {

using Cells = std::vector<std::string>;

std::string MeanText(const MeanSpread& value) {
  if (value.count == 0) return "-";
  if (value.count == 1) return absl::StrFormat("%.5f", value.mean);
  return absl::StrFormat("%.5f ± %.5f", value.mean, value.spread);
}

std::string PercentText(double share) { return std::isfinite(share) ? absl::StrFormat("%+.3f %%", 100 * share) : "-"; }

std::string PText(const std::optional<double>& p) {
  if (!p.has_value() || !std::isfinite(*p)) return "-";
  return *p < 0.001 ? "<0.001" : absl::StrFormat("%.3f", *p);
}

std::string FewerText(double bytes, double reference) { return HumanRatio(bytes, reference, {"fewer", "more"}); }

std::vector<Cells> QualityLines(const Comparison& comparison, const Figures& figures) {
  const std::string& base = comparison.arms[figures.base].name;
  Cells head = {"arm", "seeds", "log-loss", absl::StrCat("vs ", base), "p", "NE", "AUC", "bytes/sample"};
  for (const size_t reference : figures.references) head.push_back(absl::StrCat("vs ", comparison.arms[reference].name));
  head.insert(head.end(), {"wall time", "front"});
  std::vector<Cells> lines = {head};
  for (size_t i = 0; i < comparison.arms.size(); ++i) {
    const ArmFigures& arm = figures.arms[i];
    if (arm.finished == 0) continue;
    Cells cells = {comparison.arms[i].name,
                   absl::StrCat(arm.finished),
                   MeanText(arm.logloss.here),
                   i == figures.base ? "" : PercentText(arm.logloss.relative),
                   i == figures.base ? "" : PText(arm.logloss.p),
                   MeanText(arm.ne.here),
                   MeanText(arm.auc.here),
                   HumanBytes(arm.bytes)};
    for (const size_t reference : figures.references) {
      cells.push_back(i == reference ? "" : FewerText(arm.bytes, figures.arms[reference].bytes));
    }
    cells.insert(cells.end(), {HumanSeconds(arm.seconds.mean), arm.pareto ? "*" : ""});
    lines.push_back(std::move(cells));
  }
  return lines;
}

std::vector<Cells> BytesLines(const Comparison& comparison, const Figures& figures) {
  Cells head = {"bytes/sample"};
  for (const absl::string_view edge : kEdgeNames) head.push_back(absl::StrReplaceAll(edge, {{"_", " "}}));
  head.push_back("in all");
  std::vector<Cells> lines = {head};
  for (size_t i = 0; i < comparison.arms.size(); ++i) {
    const ArmFigures& arm = figures.arms[i];
    if (arm.finished == 0) continue;
    Cells cells = {comparison.arms[i].name};
    for (const double bytes : arm.edge_bytes) cells.push_back(HumanBytes(bytes));
    cells.push_back(HumanBytes(arm.bytes));
    lines.push_back(std::move(cells));
  }
  return lines;
}

std::string Missing(const Comparison& comparison, absl::string_view bullet) {
  std::string text;
  for (const Arm& arm : comparison.arms) {
    for (const std::string& same : arm.same) absl::StrAppend(&text, bullet, arm.name, " is also what ", same, " gives\n");
    if (!arm.refused.empty()) absl::StrAppend(&text, bullet, arm.name, " refused: ", arm.refused, "\n");
    size_t to_run = 0;
    for (const Cell& cell : arm.cells) {
      if (cell.state == Cell::State::kFailed) absl::StrAppend(&text, bullet, cell.folder, " failed: ", OneLine(cell.reason), "\n");
      if (cell.state == Cell::State::kToRun) ++to_run;
    }
    if (to_run > 0) absl::StrAppend(&text, bullet, arm.name, ": ", to_run, " of ", arm.cells.size(), " seeds still to run\n");
  }
  return text;
}

// `bullet`: before each line of what is missing.
std::string Text(const Comparison& comparison, std::string (*table)(absl::Span<const Cells>), absl::string_view bullet) {
  const Figures figures = FiguresOf(comparison);
  std::string text;
  const auto finished = [](const ArmFigures& arm) { return arm.finished > 0; };
  if (std::any_of(figures.arms.begin(), figures.arms.end(), finished)) {
    text = absl::StrCat(table(QualityLines(comparison, figures)), "\n", table(BytesLines(comparison, figures)));
  }
  const std::string missing = Missing(comparison, bullet);
  if (!missing.empty()) absl::StrAppend(&text, text.empty() ? "" : "\n", missing);
  return text;
}

}  // namespace

std::string OneLine(const std::string& text) {
  const size_t first_end = text.find('\n');
  if (first_end == std::string::npos) return text;
  const size_t last_end = text.find_last_not_of('\n');
  const size_t last = text.find_last_of('\n', last_end) + 1;
  return last <= first_end ? text.substr(0, first_end)
                           : absl::StrCat(text.substr(0, first_end), " ", text.substr(last, last_end + 1 - last));
}

std::string ComparisonTable(const Comparison& comparison) { return Text(comparison, TextTable, ""); }

std::string ComparisonMarkdown(const Comparison& comparison) { return Text(comparison, MarkdownTable, "- "); }

}  // namespace weir::tools
