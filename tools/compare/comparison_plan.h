// What `weir compare` is about to run, known before anything runs.
#ifndef WEIR_TOOLS_COMPARE_COMPARISON_PLAN_H_
#define WEIR_TOOLS_COMPARE_COMPARISON_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "tools/compare/comparison.h"
#include "tools/compare/grid.h"

namespace weir::tools {

inline constexpr uint32_t kSeedsMax = 1000;

struct CompareRequest {
  std::string job_file;
  std::vector<std::string> sets;    // of every cell
  std::vector<std::string> varies;  // each as for ParseVary
  std::vector<ArmSettings> arms;    // instead of varies
  uint32_t seeds = 3;
  std::string out;  // empty: <output.dir>/compare-<name of the job>
  std::string bin_dir;
  bool yardsticks = true;
};

struct ComparisonPlan {
  std::string dir;
  Comparison comparison;
  std::vector<Job> jobs;  // of the arms, in order; that of a refused arm is empty
};

// Reads the job of every arm, and makes its cells: the job's seed and those after it. Nothing is written. A value that the job refuses, by
// itself or beside the others, refuses the arm; arms that are the same job become one. Errors: those of ParseVary, ExpandGrid and
// ReadJobFile for a varied key that does not exist, and when no arm of the grid is left.
absl::StatusOr<ComparisonPlan> PlanComparison(const CompareRequest& request);

// The job of a cell: the arm's, under the cell's name, seed and folder.
Job JobOfCell(const ComparisonPlan& plan, size_t arm, const Cell& cell);

// Takes over the results that the plan's folder holds already: those of exactly the job that the cell would run. A cell without one is to
// run.
void FindFinishedCells(ComparisonPlan* plan);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARISON_PLAN_H_
