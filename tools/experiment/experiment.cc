#include "tools/experiment/experiment.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "tools/compare/compare.h"
#include "tools/compare/comparison_plan.h"
#include "tools/datagen/datagen.h"
#include "tools/experiment/dct_paper.h"
#include "tools/report/replace_file.h"

namespace weir::tools {
namespace {

constexpr char kHelp[] = R"(Example: weir experiment dct-paper --rows 1000000
Trains the DCT paper's DLRM 26 times: dense; with cuts inside the MLPs (DCT-MP) of one and two splits; with thresholded gradients (DCT-DP); with both;
with the Laplace threshold; and with the paper's two controls, which harm. Prints the published log-loss and ours, table by table.
The folder holds dct-paper.md, compare.html, compare.json and the run folder of every cell; the same command goes on where it was stopped.
A run of 1 M rows takes about a minute on two cores. --only mp1,dp picks tables: mp1 mp2 laplace dp hybrid sketch gradient.)";

// Rows of a size are made once: a file appears when it is whole.
absl::StatusOr<std::string> GeneratedRows(const DctPaperRequest& request) {
  const std::string path = absl::StrCat(request.out, "/rows-", request.rows, ".tsv");
  if (std::filesystem::exists(path)) return path;
  DatagenOptions options;
  options.rows = request.rows;
  options.out = path;
  WEIR_RETURN_IF_ERROR(RunDatagen(options));
  return path;
}

}  // namespace

absl::Status RunDctPaper(const DctPaperRequest& request, StopSignals* signals) {
  CompareRequest compare;
  WEIR_ASSIGN_OR_RETURN(compare.arms, PaperArms(request.only));
  std::error_code error;
  std::filesystem::create_directories(request.out, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make folder ", request.out));
  PaperData data;
  data.test_rows = request.test_rows;
  for (const std::string& file : request.files) data.files.push_back(std::filesystem::absolute(file).string());
  if (data.files.empty()) {
    WEIR_ASSIGN_OR_RETURN(const std::string generated, GeneratedRows(request));
    data.files.push_back(std::filesystem::absolute(generated).string());
  }
  WEIR_ASSIGN_OR_RETURN(data.rows, CountRows(data.files));
  compare.job_file = absl::StrCat(request.out, "/dct-paper.yaml");
  const std::string job = PaperJob("dct-paper", data);
  WEIR_RETURN_IF_ERROR(ReplaceFile(compare.job_file, {job}));
  compare.sets = request.sets;
  compare.seeds = request.seeds;
  compare.out = request.out;
  compare.yardsticks = false;
  WEIR_ASSIGN_OR_RETURN(ComparisonPlan plan, PlanComparison(compare));
  const absl::Status ran = RunComparison(request.bin_dir, signals, &plan);
  if (!ran.ok() && !absl::IsCancelled(ran) && !absl::IsAborted(ran)) return ran;
  const std::string report = PaperReport(plan.comparison);
  WEIR_RETURN_IF_ERROR(ReplaceFile(absl::StrCat(request.out, "/dct-paper.md"), {report}));
  std::fputs(report.c_str(), stdout);
  return ran;
}

CLI::App* AddExperimentCommand(CLI::App* app, DctPaperRequest* request) {
  CLI::App* const experiment = app->add_subcommand("experiment", "Runs published experiments again");
  experiment->require_subcommand(1);
  CLI::App* const paper = experiment->add_subcommand("dct-paper", "The tables of the DCT paper (KDD 2021), ours beside the published ones");
  paper->add_option("--rows", request->rows, "Rows to generate, when no --data is given; the last --test-rows are held out")
      ->capture_default_str();
  paper->add_option("--data", request->files, "Criteo TSV files (plain, .gz, .xz, .zst) instead of generated rows");
  paper->add_option("--test-rows", request->test_rows, "Rows held out at the end")->capture_default_str();
  paper->add_option("--seeds", request->seeds, "Runs of each arm")->capture_default_str();
  paper->add_option("--only", request->only, "Tables, with commas between them")->delimiter(',');
  paper->add_option("--out", request->out, "Folder")->capture_default_str();
  paper->add_option("--set", request->sets, "KEY=VALUE: a setting of every arm, as for weir launch; may be repeated")
      ->expected(1)
      ->take_all();
  paper->add_option("--bin-dir", request->bin_dir,
                    "Folder of weir-coordinator, weir-server and weir-worker, when they are not beside weir");
  paper->footer(kHelp);
  return paper;
}

}  // namespace weir::tools
