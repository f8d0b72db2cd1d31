// What `weir bench` measures: each scenario is a number of ours beside another of the same run, which some program prints as JSON.
#ifndef WEIR_TOOLS_BENCH_SCENARIO_H_
#define WEIR_TOOLS_BENCH_SCENARIO_H_

#include <string>
#include <vector>

namespace weir::tools {

// One number: a program, and where in the JSON document that it prints (a JSON pointer, RFC 6901).
struct Source {
  std::vector<std::string> command;
  std::string pointer;
};

enum class Better { kHigher, kLower };

struct Scenario {
  std::string name;
  std::string what;     // is measured
  std::string unit;     // of both numbers
  std::string against;  // what the other is
  Source value;
  Source other;
  double floor = 0;  // of value / other
  double aim = 0;
  Better better = Better::kHigher;
};

// Where the programs are.
struct ProgramPlaces {
  std::string benches;   // folder of the Google Benchmarks (tests/bench)
  std::string programs;  // folder of the Python programs (tools/bench/programs)
  std::string weir;      // this program
  std::string rows;      // a file of generated rows
};

std::vector<Scenario> AllScenarios(const ProgramPlaces& places);

// "aim met", "floor met", "below floor".
std::string Verdict(const Scenario& scenario, double ratio);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_BENCH_SCENARIO_H_
