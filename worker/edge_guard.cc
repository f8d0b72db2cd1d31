#include "worker/edge_guard.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compression/dct_layer.h"

namespace weir::worker {
namespace {

constexpr double kStep = 4;  // between densities that are tried
constexpr uint64_t kPatienceMax = uint64_t{1} << 20;

// Single probes go astray when the model does; the middle one is not moved by them. Leaves the vector empty.
double TakeMedian(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  const size_t half = values->size() / 2;
  const double median = values->size() % 2 == 1 ? (*values)[half] : ((*values)[half - 1] + (*values)[half]) / 2;
  values->clear();
  return median;
}

}  // namespace

double EdgeGuard::Sparsity() const { return compression::RelaxedSparsity(options_.sparsity, factor_); }

std::optional<EdgeGuard::Verdict> EdgeGuard::Add(double cost) {
  costs_.push_back(std::isnan(cost) ? std::numeric_limits<double>::infinity() : cost);
  if (costs_.size() < options_.window) return std::nullopt;
  Verdict verdict;
  verdict.cost = TakeMedian(&costs_);
  verdict.sparsity_before = Sparsity();
  Judge(verdict.cost);
  verdict.sparsity_after = Sparsity();
  return verdict;
}

void EdgeGuard::VisitState(StateVisitor* state) {
  state->Vector("costs", &costs_);
  state->Real("factor", &factor_);
  state->Real("least", &least_);
  state->Number("calm", &calm_);
  state->Number("patience", &patience_);
}

void EdgeGuard::Judge(double cost) {
  const double whole = 1 / (1 - options_.sparsity);
  if (cost > options_.bound) {
    if (factor_ < whole) {
      least_ = std::min(whole, std::max(least_, factor_ * kStep));
      patience_ = std::min(2 * patience_, kPatienceMax);
    }
    factor_ = whole;
    calm_ = 0;
    return;
  }
  if (cost > options_.bound / 2) return;
  ++calm_;
  if (factor_ > least_) {
    const double density = 1 - Sparsity();
    if (static_cast<double>(calm_) * options_.window_steps * density < 1) return;
    factor_ = std::max(least_, factor_ / kStep);
    calm_ = 0;
  } else if (least_ > 1 && calm_ >= patience_) {
    least_ = std::max(1.0, least_ / kStep);
    factor_ = least_;
    calm_ = 0;
  }
}

}  // namespace weir::worker
