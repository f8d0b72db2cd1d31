// How dense an edge has to be, from estimates of what its compression costs. The rules of worker/quality_guard.h, without a model.
#ifndef WEIR_WORKER_EDGE_GUARD_H_
#define WEIR_WORKER_EDGE_GUARD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/state_visitor.h"

namespace weir::worker {

struct EdgeGuardOptions {
  double bound = 0.001;  // cost that an edge may have
  uint32_t window = 4;   // probes of one decision
  double window_steps = 4;
  double sparsity = 0.9;  // that the job asks for
};

// Single-threaded. The edge keeps `factor` times the density that the job asks for. It begins whole (factor 1 / density): the first steps
// move everything, and what they hold back costs most. After each window of probes:
//
//   median above the bound   whole again, so that everything held back goes out; the factor that failed, times 4, becomes the least one
//   below half of it         calm. After 1 / density steps of calm (so long it takes until about everything was sent once, and what is held
//                            back has grown to its full size) the factor falls to a quarter, down to the least one. After some calm windows
//                            there the least one falls, too; how many doubles with every failure
//   between                  nothing
//
// So quality is restored within a window, and bytes come back as far as they can stay.
class EdgeGuard {
 public:
  struct Verdict {
    double cost = 0;  // median of the window
    double sparsity_before = 0;
    double sparsity_after = 0;
  };

  explicit EdgeGuard(EdgeGuardOptions options) : options_(options), factor_(1 / (1 - options.sparsity)) {}

  // Share of the log-loss that the edge's compression cost in one probe; may be below 0. A verdict when the window is full. NaN counts as a
  // cost above any bound.
  std::optional<Verdict> Add(double cost);

  double factor() const { return factor_; }
  void VisitState(StateVisitor* state);

 private:
  void Judge(double cost);
  double Sparsity() const;

  const EdgeGuardOptions options_;
  std::vector<double> costs_;  // of the window so far
  double factor_;
  double least_ = 1;       // that factor_ falls to
  uint64_t calm_ = 0;      // windows at this factor without a failure
  uint64_t patience_ = 4;  // of them, until the least one falls
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_EDGE_GUARD_H_
