#include <algorithm>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "tools/report/human_units.h"
#include "tools/report/report.h"
#include "tools/report/run_folder.h"
#include "tools/report/text_table.h"

namespace weir::tools {
namespace {

using Cells = std::vector<std::string>;

// A figure of a run, how one is written, and how two compare.
struct Row {
  std::string title;
  std::function<std::optional<double>(const RunResult&)> figure;
  std::function<std::string(double)> text;
  std::function<std::string(double, double)> comparison;
};

std::string FourDigits(double value) { return absl::StrFormat("%.4f", value); }
std::string Difference(double value, double other) { return absl::StrFormat("%+.4f", value - other); }

Row BytesRow(std::string title, std::function<uint64_t(const BytesByEdge&)> bytes) {
  return {std::move(title),
          [bytes = std::move(bytes)](const RunResult& run) -> std::optional<double> {
            if (run.samples == 0) return std::nullopt;
            return static_cast<double>(bytes(run.training_bytes)) / static_cast<double>(run.samples);
          },
          HumanBytes,
          [](double value, double other) {
            return HumanRatio(value, other, {"fewer", "more"});
          }};
}

std::vector<Row> Rows() {
  std::vector<Row> rows = {
      {"log-loss", [](const RunResult& run) { return run.logloss; }, FourDigits, HumanPercentDifference},
      {"AUC", [](const RunResult& run) { return run.auc; }, FourDigits, Difference},
      {"NE", [](const RunResult& run) { return run.ne; }, FourDigits, HumanPercentDifference},
      {"calibration", [](const RunResult& run) { return run.calibration; }, FourDigits, Difference},
      BytesRow("bytes/sample", TotalBytes),
  };
  for (size_t edge = 0; edge < kEdgeCount; ++edge) {
    rows.push_back(BytesRow(absl::StrCat("  ", absl::StrReplaceAll(kEdgeNames[edge], {{"_", " "}})),
                            [edge](const BytesByEdge& bytes) { return bytes[edge]; }));
  }
  rows.push_back({"wall time", [](const RunResult& run) { return std::optional<double>(run.seconds); }, HumanSeconds,
                  [](double value, double other) {
                    return HumanRatio(value, other, {"less", "more"});
                  }});
  rows.push_back({"samples/s", [](const RunResult& run) { return std::optional<double>(run.samples_per_second); }, HumanCount,
                  [](double value, double other) {
                    return HumanRatio(value, other, {"slower", "faster"});
                  }});
  return rows;
}

Cells CellsOf(const Row& row, absl::Span<const RunResult> runs) {
  Cells cells = {row.title};
  for (const RunResult& run : runs) {
    const std::optional<double> figure = row.figure(run);
    cells.push_back(figure.has_value() ? row.text(*figure) : "-");
  }
  if (runs.size() < 2) return cells;
  const std::optional<double> first = row.figure(runs.front());
  const std::optional<double> last = row.figure(runs.back());
  cells.push_back(first.has_value() && last.has_value() ? row.comparison(*first, *last) : "-");
  return cells;
}

}  // namespace

absl::StatusOr<std::string> SummaryTable(const std::vector<std::string>& run_dirs) {
  if (run_dirs.empty()) return absl::InvalidArgumentError("no run folder to summarise; name at least one");
  std::vector<RunResult> runs;
  Cells head = {""};
  for (const std::string& run_dir : run_dirs) {
    WEIR_ASSIGN_OR_RETURN(RunResult run, ReadRunResult(run_dir));
    head.push_back(run.job);
    runs.push_back(std::move(run));
  }
  if (runs.size() >= 2) head.push_back(absl::StrCat(runs.front().job, " vs ", runs.back().job));
  std::vector<Cells> lines = {std::move(head)};
  for (const Row& row : Rows()) lines.push_back(CellsOf(row, runs));
  return TextTable(lines);
}

}  // namespace weir::tools
