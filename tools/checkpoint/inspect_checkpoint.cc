#include "tools/checkpoint/inspect_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/checkpoint/find_checkpoint.h"
#include "tools/checkpoint/saved_values.h"
#include "tools/report/human_units.h"
#include "tools/report/text_table.h"

namespace weir::tools {
namespace {

using Json = nlohmann::ordered_json;
using Line = std::vector<std::string>;

constexpr char kHelp[] = R"(Examples:
  weir inspect checkpoint runs/demo                    the latest one of a run
  weir inspect checkpoint runs/demo/checkpoints/step-500
  weir inspect checkpoint runs/demo/checkpoints/step-500 --diff runs/demo     what has changed since
All files are read and their checksums compared: what is printed is whole. Norms are Euclidean.)";

double Norm(absl::Span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

std::string Number(double value) { return absl::StrFormat("%.4g", value); }

// Weights of all rows, without slots.
double WeightNorm(const SavedTable& table) {
  double sum = 0;
  for (size_t row = 0; row < table.rows.keys.size(); ++row) {
    for (uint32_t d = 0; d < table.weights; ++d) {
      const double weight = table.rows.values[row * table.row_floats() + d];
      sum += weight * weight;
    }
  }
  return std::sqrt(sum);
}

// What workers hold back, under the name of what it is held back of.
struct HeldBack {
  uint64_t rows = 0;  // of tables
  double squares = 0;
};

absl::StatusOr<std::map<std::string, HeldBack>> ReadHeldBack(const Checkpoint& checkpoint) {
  std::map<std::string, HeldBack> held;
  for (int rank = 0; rank < checkpoint.manifest.workers_size(); ++rank) {
    WEIR_ASSIGN_OR_RETURN(const SavedValues values, ReadSavedValues(checkpoint, static_cast<uint32_t>(rank)));
    for (const auto& [name, bytes] : values) {
      absl::string_view of = name;
      if (absl::ConsumeSuffix(&of, "/residual.keys")) {
        held[std::string(of)].rows += bytes.size() / sizeof(Key);
      } else if (absl::ConsumeSuffix(&of, "/residual.values") || absl::ConsumeSuffix(&of, "/residual")) {
        const double norm = Norm(FloatsOf(bytes));
        held[std::string(of)].squares += norm * norm;
      }
    }
  }
  return held;
}

struct Totals {
  uint64_t rows = 0;
  uint64_t bytes = 0;  // of rows with their keys
};

Json ManifestJson(const Checkpoint& checkpoint) {
  const CheckpointManifest& manifest = checkpoint.manifest;
  uint64_t file_bytes = 0;
  for (const SavedShards& server : manifest.servers()) file_bytes += server.file().bytes();
  for (const SavedFile& worker : manifest.workers()) file_bytes += worker.bytes();
  return {{"folder", checkpoint.folder},
          {"job", manifest.job().name()},
          {"step", manifest.step()},
          {"samples", manifest.samples()},
          {"seconds", manifest.seconds()},
          {"saved", absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(manifest.saved_unix_seconds()), absl::LocalTimeZone())},
          {"servers", manifest.servers_size()},
          {"workers", manifest.workers_size()},
          {"file_bytes", file_bytes}};
}

// Of a table in two checkpoints.
struct TableChange {
  uint64_t came = 0;
  uint64_t went = 0;
  uint64_t changed = 0;
  uint64_t same = 0;
  double squares = 0;  // of the differences of weights
  double largest = 0;
};

// Rows of both stand by key.
TableChange CompareTables(const SavedTable& first, const SavedTable& second) {
  TableChange change;
  const auto& a = first.rows;
  const auto& b = second.rows;
  for (size_t i = 0, j = 0; i < a.keys.size() || j < b.keys.size();) {
    if (j == b.keys.size() || (i < a.keys.size() && a.keys[i] < b.keys[j])) {
      ++change.went;
      ++i;
    } else if (i == a.keys.size() || b.keys[j] < a.keys[i]) {
      ++change.came;
      ++j;
    } else {
      const float* const x = a.values.data() + i++ * first.row_floats();
      const float* const y = b.values.data() + j++ * second.row_floats();
      const bool same = first.row_floats() == second.row_floats() && std::equal(x, x + first.row_floats(), y);
      ++(same ? change.same : change.changed);
      for (uint32_t d = 0; d < std::min(first.weights, second.weights); ++d) {
        const double difference = double{y[d]} - x[d];
        change.squares += difference * difference;
        change.largest = std::max(change.largest, std::fabs(difference));
      }
    }
  }
  return change;
}

}  // namespace

absl::StatusOr<std::string> DescribeCheckpoint(const std::string& path, bool json) {
  WEIR_ASSIGN_OR_RETURN(const Checkpoint checkpoint, FindCheckpoint(path));
  WEIR_ASSIGN_OR_RETURN(const auto tables, ReadSavedTables(checkpoint));
  WEIR_ASSIGN_OR_RETURN(const auto held, ReadHeldBack(checkpoint));
  WEIR_ASSIGN_OR_RETURN(const SavedValues values, ReadSavedValues(checkpoint, 0));
  Json out = ManifestJson(checkpoint);
  Totals all;
  std::vector<Line> lines = {{"table", "rows", "weights", "slots", "bytes", "norm"}};
  for (const auto& [name, table] : tables) {
    const uint64_t rows = table.rows.keys.size();
    const uint64_t bytes = rows * (sizeof(Key) + table.row_floats() * sizeof(float));
    all.rows += rows;
    all.bytes += bytes;
    const double norm = WeightNorm(table);
    lines.push_back({name, absl::StrCat(rows), absl::StrCat(table.weights), absl::StrCat(table.slots),
                     HumanBytes(static_cast<double>(bytes)), Number(norm)});
    out["tables"].push_back(
        {{"name", name}, {"rows", rows}, {"weights", table.weights}, {"slots", table.slots}, {"bytes", bytes}, {"norm", norm}});
  }
  lines.push_back({"all", absl::StrCat(all.rows), "", "", HumanBytes(static_cast<double>(all.bytes)), ""});
  std::vector<Line> layers = {{"layer", "parameters", "norm"}};
  for (const auto& [name, bytes] : values) {
    absl::string_view layer = name;
    if (!absl::ConsumePrefix(&layer, "model/") || absl::StrContains(layer, '/')) continue;
    const std::vector<float> parameters = FloatsOf(bytes);
    layers.push_back({std::string(layer), absl::StrCat(parameters.size()), Number(Norm(parameters))});
    out["layers"].push_back({{"name", layer}, {"parameters", parameters.size()}, {"norm", Norm(parameters)}});
  }
  std::vector<Line> residuals = {{"held back by workers", "rows", "norm"}};
  for (const auto& [name, of] : held) {
    residuals.push_back({name, of.rows == 0 ? "" : absl::StrCat(of.rows), Number(std::sqrt(of.squares))});
    out["held_back"].push_back({{"name", name}, {"rows", of.rows}, {"norm", std::sqrt(of.squares)}});
  }
  if (json) return out.dump(2) + "\n";
  std::string text =
      absl::StrFormat("%s: job %s before step %d, saved %s; whole\n%s samples in %s; %d servers, %d workers, %s in files\n\n",
                      checkpoint.folder, out["job"].get<std::string>(), checkpoint.manifest.step(), out["saved"].get<std::string>(),
                      HumanCount(static_cast<double>(checkpoint.manifest.samples())), HumanSeconds(checkpoint.manifest.seconds()),
                      checkpoint.manifest.servers_size(), checkpoint.manifest.workers_size(), HumanBytes(out["file_bytes"].get<double>()));
  absl::StrAppend(&text, TextTable(lines), "\n", TextTable(layers));
  if (residuals.size() > 1) absl::StrAppend(&text, "\n", TextTable(residuals));
  return text;
}

absl::StatusOr<std::string> CompareCheckpoints(const std::string& first, const std::string& second, bool json) {
  WEIR_ASSIGN_OR_RETURN(const Checkpoint before, FindCheckpoint(first));
  WEIR_ASSIGN_OR_RETURN(const Checkpoint after, FindCheckpoint(second));
  WEIR_ASSIGN_OR_RETURN(auto tables_before, ReadSavedTables(before));
  WEIR_ASSIGN_OR_RETURN(auto tables_after, ReadSavedTables(after));
  WEIR_ASSIGN_OR_RETURN(SavedValues values_before, ReadSavedValues(before, 0));
  WEIR_ASSIGN_OR_RETURN(const SavedValues values_after, ReadSavedValues(after, 0));
  Json out = {{"before", ManifestJson(before)}, {"after", ManifestJson(after)}};
  std::vector<Line> lines = {{"table", "new rows", "gone", "changed", "same", "moved by", "most"}};
  for (const auto& [name, table] : tables_before) tables_after.try_emplace(name);
  for (const auto& [name, table] : tables_after) {
    const TableChange change = CompareTables(tables_before[name], table);
    lines.push_back({name, absl::StrCat(change.came), absl::StrCat(change.went), absl::StrCat(change.changed), absl::StrCat(change.same),
                     Number(std::sqrt(change.squares)), Number(change.largest)});
    out["tables"].push_back({{"name", name},
                             {"new", change.came},
                             {"gone", change.went},
                             {"changed", change.changed},
                             {"same", change.same},
                             {"moved_by", std::sqrt(change.squares)},
                             {"most", change.largest}});
  }
  std::vector<Line> layers = {{"layer", "moved by", "of its norm"}};
  for (const auto& [name, bytes] : values_after) {
    absl::string_view layer = name;
    if (!absl::ConsumePrefix(&layer, "model/") || absl::StrContains(layer, '/')) continue;
    std::vector<float> difference = FloatsOf(bytes);
    const double norm = Norm(difference);
    const std::vector<float> earlier = FloatsOf(values_before[name]);
    if (earlier.size() != difference.size()) {
      return absl::FailedPreconditionError(absl::StrCat("layer ", layer, " has ", earlier.size(), " parameters in ", before.folder, " and ",
                                                        difference.size(), " in ", after.folder));
    }
    for (size_t i = 0; i < difference.size(); ++i) difference[i] -= earlier[i];
    const double moved = Norm(difference);
    layers.push_back({std::string(layer), Number(moved), norm > 0 ? absl::StrFormat("%.2f %%", 100 * moved / norm) : "-"});
    out["layers"].push_back({{"name", layer}, {"moved_by", moved}, {"norm", norm}});
  }
  if (json) return out.dump(2) + "\n";
  return absl::StrFormat("%s before step %d, and %s before step %d\n\n%s\n%s", before.folder, before.manifest.step(), after.folder,
                         after.manifest.step(), TextTable(lines), TextTable(layers));
}

absl::Status Inspect(const InspectRequest& request) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, request.diff.empty() ? DescribeCheckpoint(request.checkpoint, request.json)
                                                                     : CompareCheckpoints(request.checkpoint, request.diff, request.json));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

CLI::App* AddInspectCommand(CLI::App* app, InspectRequest* request) {
  CLI::App* const inspect = app->add_subcommand("inspect", "Looks into what a job has saved");
  inspect->require_subcommand(1);
  CLI::App* const command = inspect->add_subcommand("checkpoint", "Tables, rows, layers, what is held back; whether all of it is whole");
  command->add_option("folder", request->checkpoint, "A checkpoint, a folder of them, or a run")->required();
  command->add_option("--diff", request->diff, "Another one: what is different there");
  command->add_flag("--json", request->json, "For programs");
  command->footer(kHelp);
  return inspect;
}

}  // namespace weir::tools
