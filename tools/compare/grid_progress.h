// How far a comparison is: one line for the whole grid over the progress bar of the run.
#ifndef WEIR_TOOLS_COMPARE_GRID_PROGRESS_H_
#define WEIR_TOOLS_COMPARE_GRID_PROGRESS_H_

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"
#include "tools/launch/progress_bar.h"

namespace weir::tools {

// Where the work on cells that were not done before stands.
struct GridPosition {
  size_t cells = 0;          // to run, all together
  size_t ended = 0;          // of them; the cell that runs is the next
  double ended_seconds = 0;  // that they took
  double cell_seconds = 0;   // since the running cell began
  double cell_share = 0;     // of its samples that are trained
};

// Seconds to the end of the grid, when every cell takes as long as those that ended did on average; before one has ended, as long as the
// running cell seems to. NaN while not even that can be told. Pure.
double GridSecondsLeft(const GridPosition& position);

// "cell 4 of 24: dense.sparsity-0.9, seed 2, 5 min 10 s left", cut to `columns`. Pure.
std::string GridLine(const GridPosition& position, const std::string& cell, int columns);

// On a terminal the line is drawn over and over above the bar; elsewhere it comes once a cell. Single-threaded.
class GridProgress {
 public:
  GridProgress(std::FILE* out, size_t cells);
  GridProgress(const GridProgress&) = delete;
  GridProgress& operator=(const GridProgress&) = delete;

  void Begin(const std::string& cell, const Cluster& cluster);
  void Show(const StatusReply& status);
  // Takes bar and line away and writes `outcome` in their place.
  void End(const std::string& outcome);

 private:
  std::FILE* const out_;
  const bool terminal_;
  GridPosition position_;
  std::string cell_;
  absl::Time cell_began_;
  std::optional<ProgressBar> bar_;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_GRID_PROGRESS_H_
