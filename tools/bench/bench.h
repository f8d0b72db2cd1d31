// `weir bench`: how fast this build is on this machine, each figure beside another of the same run.
#ifndef WEIR_TOOLS_BENCH_BENCH_H_
#define WEIR_TOOLS_BENCH_BENCH_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

struct BenchRequest {
  std::vector<std::string> only;   // scenarios; empty: all
  std::string json;                // file to write; empty: none
  std::string compare;             // file of an earlier run; empty: none
  std::string dir = "runs/bench";  // what programs print, and generated rows
  std::string benches;             // folder of the Google Benchmarks; empty: where Bazel puts them relative to this program
  std::string programs = "tools/bench/programs";
  uint64_t rows = 500'000;  // generated, to read and train on
};

// Runs the scenarios, one after the other, and prints their table. A program that fails or is not installed costs its scenarios only.
// INVALID_ARGUMENT: an unknown scenario, a file that is none of an earlier run. NOT_FOUND: no benchmarks. INTERNAL: a program failed; the
// table was printed. CANCELLED: stopped.
absl::Status Bench(const BenchRequest& request, StopSignals* signals);

// Adds the subcommand; parsing fills *request, which outlives it.
CLI::App* AddBenchCommand(CLI::App* app, BenchRequest* request);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_BENCH_BENCH_H_
