// A comparison in memory: its arms and how far their runs are. Plain data.
#ifndef WEIR_TOOLS_COMPARE_COMPARISON_H_
#define WEIR_TOOLS_COMPARE_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/run_folder.h"

namespace weir::tools {

// One arm with one seed.
struct Cell {
  enum class State { kToRun, kDone, kFailed };

  uint64_t seed = 0;
  std::string folder;  // its name in the comparison's folder, and the run's
  State state = State::kToRun;
  std::string reason;  // kFailed: why
  RunResult result;    // kDone
};

struct Arm {
  std::string name;
  std::vector<std::string> sets;  // "KEY=VALUE"
  bool yardstick = false;
  std::vector<std::string> same;  // settings of other arms that turned out to be this same job
  std::string refused;            // why the job does not take the settings; then it has no cells
  std::vector<Cell> cells;        // by seed; all arms have the same
};

struct Comparison {
  std::string job;                  // name of the job
  std::string job_file;             // as it was named
  std::vector<std::string> sets;    // of all arms
  std::vector<std::string> varied;  // keys
  std::vector<uint64_t> seeds;
  std::vector<Arm> arms;  // yardsticks first
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARISON_H_
