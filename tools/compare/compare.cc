#include "tools/compare/compare.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tools/compare/comparison_files.h"
#include "tools/compare/comparison_folder.h"
#include "tools/compare/comparison_table.h"
#include "tools/compare/grid_progress.h"
#include "tools/launch/binaries.h"
#include "tools/launch/local_cluster.h"
#include "tools/launch/prepare_run.h"
#include "tools/report/human_units.h"
#include "tools/report/report.h"

namespace weir::tools {
namespace {

struct Counts {
  size_t done = 0;
  size_t failed = 0;
  size_t to_run = 0;

  size_t All() const { return done + failed + to_run; }
};

Counts Count(const Comparison& comparison) {
  Counts counts;
  for (const Arm& arm : comparison.arms) {
    for (const Cell& cell : arm.cells) {
      if (cell.state == Cell::State::kDone) ++counts.done;
      if (cell.state == Cell::State::kFailed) ++counts.failed;
      if (cell.state == Cell::State::kToRun) ++counts.to_run;
    }
  }
  return counts;
}

// Everything that can be known before the first run, where it can still be stopped.
void Announce(const ComparisonPlan& plan) {
  size_t arms = 0;
  for (const Arm& arm : plan.comparison.arms) {
    if (arm.refused.empty()) ++arms;
    if (!arm.refused.empty()) absl::FPrintF(stderr, "refused, the others go on: %s: %s\n", arm.name, arm.refused);
    for (const std::string& same : arm.same) absl::FPrintF(stderr, "%s gives the job of %s, which runs once\n", same, arm.name);
  }
  const auto holds_out = [](const Job& job) { return job.data().test_size() > 0 || job.data().test_last_rows() > 0; };
  if (std::none_of(plan.jobs.begin(), plan.jobs.end(), holds_out)) {
    absl::FPrintF(stderr, "no rows are held out, so nothing will be said about quality; set data.test_last_rows or data.test\n");
  }
  const Counts counts = Count(plan.comparison);
  absl::FPrintF(stderr, "%d cells: %d arms, %d seeds each; %d done before, %d to run; in %s\n", counts.All(), arms,
                plan.comparison.seeds.size(), counts.done, counts.to_run, plan.dir);
}

std::string Outcome(const Cell& cell) {
  if (cell.state == Cell::State::kFailed) return absl::StrCat(cell.folder, ": failed: ", OneLine(cell.reason));
  const RunResult& result = cell.result;
  const double bytes = static_cast<double>(TotalBytes(result.training_bytes)) / static_cast<double>(result.samples);
  return absl::StrCat(cell.folder, ": ", result.logloss.has_value() ? absl::StrFormat("log-loss %.5f, ", *result.logloss) : "",
                      HumanBytes(bytes), " a sample, ", HumanSeconds(result.seconds));
}

// What would fail every run alike is said once: no binaries, no arm whose data can be read.
absl::Status CheckSomethingCanRun(const ComparisonPlan& plan, const std::string& bin_dir) {
  if (Count(plan.comparison).to_run == 0) return absl::OkStatus();
  WEIR_RETURN_IF_ERROR(FindBinaries(bin_dir, ThisExecutable()).status());
  absl::Status first;
  for (const Job& job : plan.jobs) {
    const absl::Status status = CheckDataFiles(job);
    // The job of a refused arm is empty, and names no file.
    if (status.ok() && job.data().train_size() > 0) return absl::OkStatus();
    if (first.ok()) first = status;
  }
  return first;
}

class GridRun {
 public:
  GridRun(ComparisonPlan* plan, const std::string& bin_dir, StopSignals* signals)
      : plan_(plan), bin_dir_(bin_dir), signals_(signals), progress_(stderr, Count(plan->comparison).to_run) {}

  // CANCELLED after a stop signal; other errors are of the comparison's own files, not of its runs.
  absl::Status Run() {
    for (size_t seed = 0; seed < plan_->comparison.seeds.size(); ++seed) {
      for (size_t arm = 0; arm < plan_->comparison.arms.size(); ++arm) {
        Arm& of = plan_->comparison.arms[arm];
        if (!of.refused.empty() || of.cells[seed].state != Cell::State::kToRun) continue;
        if (Stopped()) return absl::CancelledError("interrupted");
        WEIR_RETURN_IF_ERROR(RunCell(of, JobOfCell(*plan_, arm, of.cells[seed]), &of.cells[seed]));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Whether a signal came, also while nobody waited for it.
  bool Stopped() {
    signals_->Wait(absl::ZeroDuration());
    return signals_->stopped_by() != 0;
  }

  absl::Status RunCell(const Arm& arm, const Job& job, Cell* cell) {
    progress_.Begin(absl::StrCat(arm.name, ", seed ", cell->seed), job.cluster());
    absl::StatusOr<RunResult> result = Train(job);
    if (Stopped()) {
      progress_.End(absl::StrCat(cell->folder, ": interrupted"));
      return absl::CancelledError("interrupted");
    }
    if (result.ok()) {
      cell->state = Cell::State::kDone;
      cell->result = *std::move(result);
    } else {
      cell->state = Cell::State::kFailed;
      cell->reason = std::string(result.status().message());
    }
    progress_.End(Outcome(*cell));
    return WriteComparison(plan_->dir, plan_->comparison);
  }

  absl::StatusOr<RunResult> Train(const Job& job) {
    WEIR_ASSIGN_OR_RETURN(ClusterOptions options, PrepareRun(job, bin_dir_));
    const std::string run_dir = options.run_dir;
    LocalCluster cluster(job, std::move(options), signals_);
    WEIR_RETURN_IF_ERROR(cluster.Run([this](const StatusReply& status) { progress_.Show(status); }));
    WEIR_RETURN_IF_ERROR(WriteReport(run_dir));
    return ReadRunResult(run_dir);
  }

  ComparisonPlan* const plan_;
  const std::string bin_dir_;
  StopSignals* const signals_;
  GridProgress progress_;
};

constexpr char kHelp[] = R"(Example:
  weir compare examples/demo.yaml --vary compression.dense.sparsity=0.9,0.99,0.999 --vary compression.push.values=fp32,int8
runs all six combinations and the two yardsticks, each with three seeds: 24 cells. Without --vary it runs the job as it is beside the yardsticks.
  plain   the uncompressed arm: every key and row of every sample in fp32, dense all-reduce
  fp16    half precision everywhere, and nothing else
Significance is against the first arm, plain: a paired t-test over the seeds that both arms have.

The folder holds compare.html (the page to open), compare.json (the same for programs), compare.md and the run folder of every cell, <arm>-<seed>. The
same command again runs only what has no result yet, or another job than now; so a comparison can be stopped by Ctrl-C and go on, or grow by
seeds and values. Data files are told apart by their names: after new rows in an old file, take another --out.

An unknown key is an error, and nothing runs. A value that the job refuses, by itself or beside the others (as plain on one edge only), refuses
its arm alone: that is said before anything runs, stands in the table, and the exit code is still 0. When no arm of the grid is left, nothing runs.
A cell that fails is reported and the others go on; the exit code is then 1.)";

}  // namespace

absl::Status RunComparison(const std::string& bin_dir, StopSignals* signals, ComparisonPlan* plan) {
  WEIR_ASSIGN_OR_RETURN(const ComparisonFolder folder, ComparisonFolder::Open(plan->dir));
  FindFinishedCells(plan);
  Announce(*plan);
  WEIR_RETURN_IF_ERROR(CheckSomethingCanRun(*plan, bin_dir));
  WEIR_RETURN_IF_ERROR(WriteComparison(plan->dir, plan->comparison));
  const absl::Status ran = GridRun(plan, bin_dir, signals).Run();
  const Counts counts = Count(plan->comparison);
  if (absl::IsCancelled(ran)) {
    return absl::CancelledError(
        absl::StrCat("interrupted after ", counts.done, " of ", counts.All(), " cells; the same command goes on from there"));
  }
  WEIR_RETURN_IF_ERROR(ran);
  if (counts.failed == 0) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(counts.failed, " of ", counts.All(), " cells failed; their logs are in ", plan->dir,
                                         "/<cell>/logs, and the same command runs them again"));
}

absl::Status Compare(const CompareRequest& request, StopSignals* signals) {
  WEIR_ASSIGN_OR_RETURN(ComparisonPlan plan, PlanComparison(request));
  const absl::Status ran = RunComparison(request.bin_dir, signals, &plan);
  if (ran.ok() || absl::IsCancelled(ran) || absl::IsAborted(ran)) {
    absl::PrintF("%s\npage: %s/compare.html\n", ComparisonTable(plan.comparison), plan.dir);
  }
  return ran;
}

CLI::App* AddCompareCommand(CLI::App* app, CompareRequest* request) {
  CLI::App* const command = app->add_subcommand("compare", "Runs a job under many settings: quality against bytes and time");
  command->add_option("job", request->job_file, "Job file (YAML); see examples/")->required();
  command
      ->add_option(
          "--vary", request->varies,
          "KEY=VALUE,VALUE,...: values of a setting; commas within [], {} and quotes do not separate; all combinations of several --vary")
      ->expected(1)
      ->take_all();
  command->add_option("--set", request->sets, "KEY=VALUE: a setting of every cell, as for weir launch; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--seeds", request->seeds, "Runs of each arm: with the job's seed and the next ones")->capture_default_str();
  command->add_option("--out", request->out, "Folder of the comparison; <output.dir>/compare-<name of the job> by default");
  command->add_flag_callback(
      "--no-yardsticks", [request] { request->yardsticks = false; }, "Only the grid; its first arm is what the others are held against");
  command->add_option("--bin-dir", request->bin_dir,
                      "Folder of weir-coordinator, weir-server and weir-worker, when they are not beside weir");
  command->footer(kHelp);
  return command;
}

}  // namespace weir::tools
