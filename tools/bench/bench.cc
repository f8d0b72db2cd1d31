#include "tools/bench/bench.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "tools/bench/bench_result.h"
#include "tools/bench/program_output.h"
#include "tools/bench/scenario.h"
#include "tools/datagen/datagen.h"
#include "tools/launch/binaries.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kHelp[] = R"(Run it from the project's root, on a machine with nothing else to do, with everything built:
  bazel build //... && bazel-bin/tools/weir bench --json bench.json
A ratio is ours over the other's in the same run: read ratios, rates change with the machine. Scenarios beside Redis, PyTorch and pandas need
those (tools/bench_peers installs them from Debian); the one on limited links needs root. All of it takes about seven minutes.
  weir bench --only table_lookup,reader          some of them
  weir bench --compare bench.json                what has changed since
The scenarios, with what each is beside: docs/performance.md.)";

absl::StatusOr<std::vector<Scenario>> Selected(std::vector<Scenario> all, const std::vector<std::string>& only) {
  if (only.empty()) return all;
  std::vector<Scenario> selected;
  for (const std::string& name : only) {
    const auto found = std::find_if(all.begin(), all.end(), [&name](const Scenario& scenario) { return scenario.name == name; });
    if (found == all.end()) {
      const std::string names =
          absl::StrJoin(all, ", ", [](std::string* out, const Scenario& scenario) { absl::StrAppend(out, scenario.name); });
      return absl::InvalidArgumentError(absl::StrCat("--only ", name, ": no such scenario; there are ", names));
    }
    selected.push_back(*found);
  }
  return selected;
}

absl::Status CheckPlaces(const ProgramPlaces& places) {
  if (!fs::exists(absl::StrCat(places.benches, "/table_bench"))) {
    return absl::NotFoundError(absl::StrCat("no benchmarks in ", places.benches,
                                            ": build them with bazel build //tests/bench/..., or name "
                                            "their folder with --benches"));
  }
  if (!fs::exists(places.programs)) {
    return absl::NotFoundError(absl::StrCat("no folder ", places.programs,
                                            ": start weir bench from the project's root, or name it with "
                                            "--programs"));
  }
  return absl::OkStatus();
}

absl::Status MakeRows(const std::string& path, uint64_t rows) {
  if (fs::exists(path)) return absl::OkStatus();
  DatagenOptions options;
  options.rows = rows;
  options.out = path;
  return RunDatagen(options);
}

}  // namespace

absl::Status Bench(const BenchRequest& request, StopSignals* signals) {
  EarlierBench earlier;
  if (!request.compare.empty()) {
    WEIR_ASSIGN_OR_RETURN(earlier, ReadBenchJson(request.compare));
  }
  ProgramPlaces places;
  places.weir = ThisExecutable();
  places.benches =
      request.benches.empty() ? (fs::path(places.weir).parent_path() / "../tests/bench").lexically_normal().string() : request.benches;
  places.programs = request.programs;
  places.rows = absl::StrCat(request.dir, "/rows-", request.rows, ".tsv");
  WEIR_ASSIGN_OR_RETURN(const std::vector<Scenario> scenarios, Selected(AllScenarios(places), request.only));
  WEIR_RETURN_IF_ERROR(CheckPlaces(places));
  std::error_code error;
  fs::create_directories(request.dir, error);
  if (error) return absl::UnavailableError(absl::StrCat(request.dir, ": ", error.message()));
  WEIR_RETURN_IF_ERROR(MakeRows(places.rows, request.rows));

  ProgramOutput programs(request.dir, signals);
  BenchResult result;
  result.machine = ThisMachine();
  absl::Status failed;
  for (size_t i = 0; i < scenarios.size(); ++i) {
    std::fprintf(stderr, "%zu of %zu: %s\n", i + 1, scenarios.size(), scenarios[i].name.c_str());
    ScenarioResult one;
    one.scenario = scenarios[i];
    for (const auto& [source, number] : {std::pair{&scenarios[i].value, &one.value}, std::pair{&scenarios[i].other, &one.other}}) {
      const absl::StatusOr<double> measured = programs.NumberOf(*source);
      if (absl::IsCancelled(measured.status())) return measured.status();
      if (!measured.ok() && !absl::IsFailedPrecondition(measured.status())) failed.Update(measured.status());
      if (!measured.ok() && one.missing.empty()) one.missing = std::string(measured.status().message());
      if (measured.ok()) *number = *measured;
    }
    result.scenarios.push_back(std::move(one));
  }
  std::fputs(BenchTable(result, request.compare.empty() ? nullptr : &earlier).c_str(), stdout);
  if (!request.json.empty()) {
    std::ofstream file(request.json);
    file << BenchJson(result);
    if (!file.flush()) return absl::UnavailableError(absl::StrCat(request.json, ": cannot be written"));
  }
  return failed;
}

CLI::App* AddBenchCommand(CLI::App* app, BenchRequest* request) {
  CLI::App* const command = app->add_subcommand("bench", "Measures this build on this machine, each figure beside its limit or a peer");
  command->add_option("--only", request->only, "Names of scenarios, with commas between")->delimiter(',');
  command->add_option("--json", request->json, "Also writes the figures into this file");
  command->add_option("--compare", request->compare, "A file of an earlier --json: shows how far ratios are from it");
  command->add_option("--dir", request->dir, "Keeps generated rows and what the programs print")->capture_default_str();
  command->add_option("--benches", request->benches, "Folder of the built benchmarks, when they are not where Bazel puts them");
  command->add_option("--programs", request->programs, "Folder of the Python programs")->capture_default_str();
  command->add_option("--rows", request->rows, "Generated, to read and to train on")
      ->capture_default_str()
      ->check(CLI::Range(10'000, 100'000'000));
  command->footer(kHelp);
  return command;
}

}  // namespace weir::tools
