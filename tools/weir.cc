// The command line of Weir. Reads arguments and picks the command; what a command does stands in its own folder.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/input_file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "proto/job_file.h"
#include "tools/bench/bench.h"
#include "tools/checkpoint/export_checkpoint.h"
#include "tools/checkpoint/inspect_checkpoint.h"
#include "tools/compare/compare.h"
#include "tools/datagen/datagen.h"
#include "tools/experiment/experiment.h"
#include "tools/explain/explain.h"
#include "tools/launch/launch_command.h"
#include "tools/launch/resize_command.h"
#include "tools/launch/stop_signals.h"
#include "tools/report/report.h"

namespace weir::tools {
namespace {

constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitSignalBase = 128;

constexpr char kExamples[] = R"(First steps:
  weir datagen --rows 1000000 --out rows.tsv          rows to train on, when there are no real ones
  weir launch examples/tiny.yaml --set data.train=[rows.tsv]
  weir launch examples/demo.yaml --set name=plain --set compression.lookup.method=plain \
      --set compression.push.method=plain --set compression.dense.method=none
  weir summary runs/demo runs/plain                   the two side by side
  weir inspect checkpoint runs/demo                   what it has saved, and whether that is whole
  weir export runs/demo --to model                    tables and layers as .npy, safetensors or TSV
  weir resize runs/demo --servers 4                   another number of servers, while it trains
  weir explain runs/demo                              where its bytes and milliseconds went
  weir compare examples/demo.yaml --vary compression.dense.sparsity=0.9,0.99,0.999
Exit codes: 0 done, 1 error, 2 wrong usage, 130 and 143 stopped by Ctrl-C and SIGTERM.)";

constexpr char kLaunchHelp[] = R"(A run leaves <output.dir>/<name>/ (runs/<name>/ by default), replacing an earlier run of that name:
  job.yaml       the effective configuration      result.json    quality on held-out rows, bytes on the wire
  report.html    one page with plots              metrics.jsonl  the run over time
  logs/          what every process said
  checkpoints/   with checkpoint.every: what the job goes on from
Ctrl-C stops all processes. When one of them dies, the job ends and says which, how, and its last words; with checkpoint.every a job goes on
by itself when one was killed: a server comes back as far as it was, otherwise all start again from the latest checkpoint.
  weir launch job.yaml --set checkpoint.every=500     saves one every 500 steps (5m: every five minutes)
  weir launch job.yaml --resume                       goes on where a stopped job was, also with other cluster.servers and workers)";

constexpr char kJobHelp[] = R"(Example: weir job examples/demo.yaml --set training.epochs=2
Every process of a job checks the hash; output.dir is left out of it.)";

struct JobArguments {
  std::string file;
  std::vector<std::string> sets;
};

void AddJobArguments(CLI::App* command, JobArguments* arguments) {
  command->add_option("job", arguments->file, "Job file (YAML); see examples/")->required();
  command
      ->add_option("--set", arguments->sets,
                   "KEY=VALUE: a setting over the job file's, as in training.epochs=2 or 'model.top=[512, 1]'; may be repeated")
      ->expected(1)
      ->take_all();
}

absl::Status PrintJob(const JobArguments& arguments) {
  WEIR_ASSIGN_OR_RETURN(const Job job, ReadJobFile(arguments.file, arguments.sets));
  absl::PrintF("# hash %016x\n%s", JobHash(job), JobToYaml(job));
  return absl::OkStatus();
}

absl::Status PrintRows(const std::vector<std::string>& files) {
  WEIR_ASSIGN_OR_RETURN(const uint64_t rows, CountRows(files));
  absl::PrintF("%d\n", rows);
  return absl::OkStatus();
}

absl::Status WriteReports(const std::vector<std::string>& runs) {
  for (const std::string& run : runs) {
    WEIR_RETURN_IF_ERROR(WriteReport(run));
    absl::PrintF("%s/report.html\n", run);
  }
  return absl::OkStatus();
}

absl::Status PrintSummary(const std::vector<std::string>& runs) {
  WEIR_ASSIGN_OR_RETURN(const std::string table, SummaryTable(runs));
  std::fputs(table.c_str(), stdout);
  return absl::OkStatus();
}

int ExitCode(const absl::Status& status, int stopped_by) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "weir: %s\n", std::string(status.message()).c_str());
  return stopped_by != 0 ? kExitSignalBase + stopped_by : kExitError;
}

// A command that Ctrl-C ends in order.
int RunStoppable(const std::function<absl::Status(StopSignals*)>& command) {
  absl::StatusOr<std::unique_ptr<StopSignals>> signals = StopSignals::Create();
  if (!signals.ok()) return ExitCode(signals.status(), 0);
  const absl::Status status = command(signals->get());
  return ExitCode(status, (*signals)->stopped_by());
}

int Main(int argc, char** argv) {
  StartProcess("weir");
  CLI::App app("Weir trains large recommendation models over ordinary networks, sending only what matters.", "weir");
  app.footer(kExamples);
  app.require_subcommand(1);

  JobArguments launched;
  LaunchRequest request;
  CLI::App* const launch = app.add_subcommand("launch", "Runs a job on this machine: coordinator, servers, workers");
  AddJobArguments(launch, &launched);
  launch->add_option("--bin-dir", request.bin_dir,
                     "Folder of weir-coordinator, weir-server and weir-worker, when they are not beside weir");
  launch->add_flag("--resume", request.resume, "Go on from the latest checkpoint of this job (checkpoint.every has them saved)");
  launch->add_option("--checkpoint", request.checkpoint, "With --resume: the folder of a checkpoint to go on from, not the latest")
      ->needs("--resume");
  launch->add_flag("--trace", request.trace, "Workers write trace/worker-N.json into the run folder: open it in ui.perfetto.dev");
  launch->footer(kLaunchHelp);

  ResizeArguments resized;
  CLI::App* const resize = AddResizeCommand(&app, &resized);

  CompareRequest comparison;
  CLI::App* const compare = AddCompareCommand(&app, &comparison);

  BenchRequest measured;
  CLI::App* const bench = AddBenchCommand(&app, &measured);

  DctPaperRequest paper;
  CLI::App* const experiment = AddExperimentCommand(&app, &paper);

  ExplainRequest explained;
  CLI::App* const explain = AddExplainCommand(&app, &explained);

  InspectRequest inspected;
  CLI::App* const inspect = AddInspectCommand(&app, &inspected);
  ExportRequest exported;
  CLI::App* const exports = AddExportCommand(&app, &exported);

  JobArguments printed;
  CLI::App* const job = app.add_subcommand("job", "Prints what a job file means, all defaults set, and its hash");
  AddJobArguments(job, &printed);
  job->footer(kJobHelp);

  std::vector<std::string> files;
  CLI::App* const rows = app.add_subcommand("rows", "Counts the rows of data files (plain, .gz, .xz, .zst), all together");
  rows->add_option("file", files, "Data files")->required();

  std::vector<std::string> runs;
  CLI::App* const report = app.add_subcommand("report", "Writes report.html of runs again");
  report->add_option("run", runs, "Run folders, as in runs/demo")->required();
  CLI::App* const summary = app.add_subcommand("summary", "Prints runs side by side; put the yardstick last");
  summary->add_option("run", runs, "Run folders, as in runs/demo-dct runs/demo-plain")->required();

  absl::Status status;
  AddDatagenCommand(&app, &status);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (launch->parsed()) {
    request.job_file = launched.file;
    request.sets = launched.sets;
    return RunStoppable([&](StopSignals* signals) { return Launch(request, signals); });
  }
  if (resize->parsed()) return RunStoppable([&](StopSignals* signals) { return Resize(resized, signals); });
  if (compare->parsed()) return RunStoppable([&](StopSignals* signals) { return Compare(comparison, signals); });
  if (bench->parsed()) return RunStoppable([&](StopSignals* signals) { return Bench(measured, signals); });
  if (experiment->parsed()) return RunStoppable([&](StopSignals* signals) { return RunDctPaper(paper, signals); });
  if (explain->parsed()) status = Explain(explained);
  if (inspect->parsed()) status = Inspect(inspected);
  if (exports->parsed()) status = Export(exported);
  if (job->parsed()) status = PrintJob(printed);
  if (rows->parsed()) status = PrintRows(files);
  if (report->parsed()) status = WriteReports(runs);
  if (summary->parsed()) status = PrintSummary(runs);
  return ExitCode(status, 0);
}

}  // namespace
}  // namespace weir::tools

int main(int argc, char** argv) { return weir::tools::Main(argc, argv); }
