#include "tools/bench/bench_result.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tools/report/human_units.h"
#include "tools/report/text_table.h"

namespace weir::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string Figure(double value) { return value < 1000 ? absl::StrFormat("%.3g", value) : HumanCount(value); }

}  // namespace

std::string BenchJson(const BenchResult& result) {
  Json scenarios = Json::array();
  for (const ScenarioResult& one : result.scenarios) {
    Json scenario = {{"name", one.scenario.name}, {"what", one.scenario.what}};
    if (one.missing.empty()) {
      scenario["value"] = one.value;
      scenario["unit"] = one.scenario.unit;
      scenario["against"] = one.scenario.against;
      scenario["other"] = one.other;
      scenario["ratio"] = one.ratio();
      scenario["better"] = one.scenario.better == Better::kHigher ? "higher" : "lower";
      scenario["floor"] = one.scenario.floor;
      scenario["aim"] = one.scenario.aim;
    } else {
      scenario["missing"] = one.missing;
    }
    scenarios.push_back(std::move(scenario));
  }
  const Machine& machine = result.machine;
  const Json document = {{"machine",
                          {{"description", Describe(machine)},
                           {"processor", machine.processor},
                           {"cores", machine.cores},
                           {"memory_bytes", machine.memory_bytes},
                           {"kernel", machine.kernel},
                           {"huge_pages", machine.huge_pages},
                           {"load", machine.load}}},
                         {"scenarios", scenarios}};
  return document.dump(2) + "\n";
}

absl::StatusOr<EarlierBench> ReadBenchJson(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read; weir bench --json writes such a file"));
  const Json document = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&path](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what, "; it is to be a file of weir bench --json"));
  };
  if (!document.is_object()) return wrong("no JSON object");
  if (!document.contains("scenarios") || !document["scenarios"].is_array()) return wrong("no list `scenarios`");
  EarlierBench earlier;
  const Json description = document.value("/machine/description"_json_pointer, Json());
  if (!description.is_string()) return wrong("no `machine.description`");
  earlier.machine = description.get<std::string>();
  for (const Json& scenario : document["scenarios"]) {
    if (!scenario.is_object() || !scenario.contains("name") || !scenario["name"].is_string()) return wrong("a scenario without `name`");
    if (scenario.contains("missing")) continue;
    const std::string name = scenario["name"].get<std::string>();
    if (!scenario.contains("ratio") || !scenario["ratio"].is_number()) return wrong(absl::StrCat("scenario ", name, " has no `ratio`"));
    earlier.ratios.push_back({name, scenario["ratio"].get<double>()});
  }
  return earlier;
}

std::string BenchTable(const BenchResult& result, const EarlierBench* earlier) {
  std::vector<std::vector<std::string>> lines = {{"scenario", "weir", "against", "unit", "ratio", "floor", "aim", ""}};
  if (earlier != nullptr) lines[0].insert(lines[0].end(), {"was", "drift"});
  std::string notes;
  for (const ScenarioResult& one : result.scenarios) {
    const Scenario& scenario = one.scenario;
    if (!one.missing.empty()) {
      lines.push_back({scenario.name, "-", "-", scenario.unit, "-", Figure(scenario.floor), Figure(scenario.aim), "not measured"});
      absl::StrAppend(&notes, scenario.name, ": ", one.missing, "\n");
      continue;
    }
    lines.push_back({scenario.name, Figure(one.value), Figure(one.other), scenario.unit, absl::StrFormat("%.2f", one.ratio()),
                     Figure(scenario.floor), Figure(scenario.aim), Verdict(scenario, one.ratio())});
    if (earlier == nullptr) continue;
    const auto was = std::find_if(earlier->ratios.begin(), earlier->ratios.end(),
                                  [&scenario](const EarlierRatio& ratio) { return ratio.name == scenario.name; });
    if (was == earlier->ratios.end()) continue;
    lines.back().insert(lines.back().end(), {absl::StrFormat("%.2f", was->ratio), HumanPercentDifference(one.ratio(), was->ratio)});
  }
  std::string text = absl::StrCat(Describe(result.machine), "\n");
  if (earlier != nullptr) absl::StrAppend(&text, "was: ", earlier->machine, "\n");
  absl::StrAppend(&text, "\n", TextTable(lines), "\n");
  for (const ScenarioResult& one : result.scenarios) {
    absl::StrAppend(&text, one.scenario.name, ": ", one.scenario.what, "; against ", one.scenario.against,
                    one.scenario.better == Better::kLower ? " (lower is better)\n" : "\n");
  }
  if (!notes.empty()) absl::StrAppend(&text, "\n", notes);
  return text;
}

}  // namespace weir::tools
