// Numbers out of what other programs print.
#ifndef WEIR_TOOLS_BENCH_PROGRAM_OUTPUT_H_
#define WEIR_TOOLS_BENCH_PROGRAM_OUTPUT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/bench/scenario.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {

// Runs each command once, and remembers its output. Single-threaded.
class ProgramOutput {
 public:
  // Output goes to files in `folder`, which exists. `signals` outlives this.
  ProgramOutput(std::string folder, StopSignals* signals) : folder_(std::move(folder)), signals_(signals) {}

  // FAILED_PRECONDITION: the program ended with kNotInstalled, and its last words. INTERNAL: it failed, or printed no such number, naming
  // the program and its output. CANCELLED: a stop signal came.
  absl::StatusOr<double> NumberOf(const Source& source);

  // How a program says that what it needs is not on this machine.
  static constexpr int kNotInstalled = 3;

 private:
  absl::StatusOr<nlohmann::json> Run(const std::vector<std::string>& command);

  const std::string folder_;
  StopSignals* const signals_;
  std::map<std::vector<std::string>, absl::StatusOr<nlohmann::json>> outputs_;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_BENCH_PROGRAM_OUTPUT_H_
