#include "worker/quality_guard.h"

#include <algorithm>
#include <cmath>

#include "absl/memory/memory.h"
#include "base/binary_metrics.h"
#include "base/status_macros.h"
#include "proto/step_scales.h"
#include "spdlog/spdlog.h"

namespace weir::worker {
namespace {

// Shares of a held-back dense gradient that are tried.
constexpr float kShares[] = {1, 0.25f};
// Newton steps to the best shift; it is at most a few units away.
constexpr int kShiftSteps = 12;

EdgeGuardOptions OptionsOf(const Compression::Guard& guard, double sparsity) {
  const double window_steps = static_cast<double>(guard.window_probes()) * static_cast<double>(guard.probe_every());
  return {guard.bound(), guard.window_probes(), window_steps, sparsity};
}

bool SelectsLayers(Compression::Method method) {
  return method == Compression::METHOD_DCT || method == Compression::METHOD_TOPK || method == Compression::METHOD_DGC;
}

// Mean log-loss with the one number added to all logits that makes it least; with 0 where labels are all alike, and none does.
double ShiftedLogLoss(absl::Span<const float> logits, absl::Span<const float> labels) {
  const float first = labels[0];
  const bool alike = std::all_of(labels.begin(), labels.end(), [first](float label) { return label == first; });
  double shift = 0;
  for (int step = 0; step < kShiftSteps && !alike; ++step) {
    double slope = 0, curvature = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const double p = 1 / (1 + std::exp(-(logits[i] + shift)));
      slope += p - labels[i];
      curvature += p * (1 - p);
    }
    shift -= std::clamp(slope / std::max(curvature, 1e-12), -1.0, 1.0);
  }
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) sum += LogLossOfLogit(logits[i] + shift, labels[i]);
  return sum / static_cast<double>(logits.size());
}

}  // namespace

std::unique_ptr<QualityGuard> QualityGuard::Create(const Job& job, uint32_t rank, QualityGuardParts parts) {
  if (job.compression().guard().bound() == 0) return nullptr;
  return absl::WrapUnique(new QualityGuard(job, rank, parts));
}

QualityGuard::QualityGuard(const Job& job, uint32_t rank, QualityGuardParts parts) : job_(job), rank_(rank), parts_(parts) {
  const Compression& compression = job.compression();
  if (compression.lookup().scope() == Compression::SCOPE_CHANGE) {
    lookup_.emplace(OptionsOf(compression.guard(), compression.lookup().sparsity()));
    parts_.bags->SetLookupDensityFactor(lookup_->factor());
  }
  if (compression.push().method() == Compression::METHOD_DCT) {
    push_.emplace(OptionsOf(compression.guard(), compression.push().sparsity()));
    parts_.bags->SetPushDensityFactor(push_->factor());
  }
  if (SelectsLayers(compression.dense().method())) {
    dense_.emplace(OptionsOf(compression.guard(), compression.dense().sparsity()));
    parts_.reducer->SetDensityFactor(dense_->factor());
  }
}

void QualityGuard::VisitState(StateVisitor* state) {
  const auto visit = [state](const char* name, std::optional<EdgeGuard>* guard) {
    const StateVisitor::Scope scope(state, name);
    if (guard->has_value()) (*guard)->VisitState(state);
  };
  visit("lookup", &lookup_);
  visit("push", &push_);
  visit("dense", &dense_);
}

bool QualityGuard::Watches(int64_t step, uint32_t samples) const {
  return samples > 0 && (static_cast<uint64_t>(step) + 1) % job_.compression().guard().probe_every() == 0;
}

absl::Status QualityGuard::Watch(const Step& step) {
  if (!Watches(step.step, step.batch->samples)) return absl::OkStatus();
  const Compression::Guard& guard = job_.compression().guard();
  samples_ = std::min(guard.probe_samples(), step.batch->samples);
  step_samples_ = uint64_t{step.batch->samples} * job_.cluster().workers();
  const double logloss = ShiftedLogLoss(step.logits.first(samples_), absl::MakeConstSpan(step.batch->labels).first(samples_));
  if (lookup_.has_value() || push_.has_value()) WEIR_RETURN_IF_ERROR(WatchRows(step, logloss));
  if (dense_.has_value()) WatchDense(step, logloss);
  return absl::OkStatus();
}

double QualityGuard::LogLoss(const Step& step, absl::Span<const float> pooled) {
  logits_.resize(samples_);
  const size_t dense_width = step.batch->dense.size() / step.batch->samples;
  // Cuts remember nothing of it.
  parts_.model->SetTraining(false);
  parts_.model->Forward(samples_, absl::MakeConstSpan(step.batch->dense).first(samples_ * dense_width), pooled, absl::MakeSpan(logits_));
  parts_.model->SetTraining(true);
  return ShiftedLogLoss(logits_, absl::MakeConstSpan(step.batch->labels).first(samples_));
}

absl::Status QualityGuard::WatchRows(const Step& step, double logloss) {
  std::vector<client::FeatureKeys> features = step.batch->features;
  for (client::FeatureKeys& feature : features) {
    if (!feature.ends.empty()) feature.ends.resize(samples_);
    feature.keys.resize(feature.ends.empty() ? samples_ : feature.ends.back());
  }
  // No push of this step is applied before this worker's own has come, so every run reads the same rows.
  WEIR_ASSIGN_OR_RETURN(const client::EmbeddingBags::ProbedRows rows, parts_.bags->Probe({step.step, samples_, step_samples_, features}));
  const double true_rows = LogLoss(step, rows.pooled);
  if (lookup_.has_value() && Judge({"lookup", logloss, true_rows}, step.step, &*lookup_)) {
    parts_.bags->SetLookupDensityFactor(lookup_->factor());
  }
  if (!push_.has_value()) return absl::OkStatus();
  const double without = rows.what_if.empty() ? true_rows : LogLoss(step, rows.what_if);
  if (Judge({"push", true_rows, without}, step.step, &*push_)) parts_.bags->SetPushDensityFactor(push_->factor());
  return absl::OkStatus();
}

void QualityGuard::WatchDense(const Step& step, double logloss) {
  const double without = WithHeldBackDense(step).value_or(logloss);
  if (Judge({"dense", logloss, without}, step.step, &*dense_)) parts_.reducer->SetDensityFactor(dense_->factor());
}

std::optional<double> QualityGuard::WithHeldBackDense(const Step& step) {
  const absl::Span<const float> held_back = parts_.reducer->HeldBack();
  if (held_back.empty()) return std::nullopt;
  const StepScales scales = ScalesOf(job_.training(), step.step, step_samples_);
  const auto workers = static_cast<float>(job_.cluster().workers());  // the others hold back about as much
  const absl::Span<float> parameters = parts_.model->parameters();
  parameters_.assign(parameters.begin(), parameters.end());
  gradient_.resize(held_back.size());
  std::optional<double> least;
  for (const float share : kShares) {
    std::transform(held_back.begin(), held_back.end(), gradient_.begin(), [=](float g) { return share * workers * g; });
    std::copy(parameters_.begin(), parameters_.end(), parameters.begin());
    parts_.optimizer->Clone()->Update(parameters, gradient_, scales);
    const double moved = LogLoss(step, step.pooled.first(step.pooled.size() / step.batch->samples * samples_));
    least = std::min(least.value_or(moved), moved);
  }
  std::copy(parameters_.begin(), parameters_.end(), parameters.begin());
  return least;
}

bool QualityGuard::Judge(const Finding& finding, int64_t step, EdgeGuard* guard) {
  const std::optional<EdgeGuard::Verdict> verdict = guard->Add((finding.with - finding.without) / finding.with);
  if (!verdict.has_value()) return false;
  GuardDecision decision;
  decision.set_worker_rank(rank_);
  decision.set_step(step);
  decision.set_edge(finding.edge);
  decision.set_cost(verdict->cost);
  decision.set_sparsity_before(verdict->sparsity_before);
  decision.set_sparsity_after(verdict->sparsity_after);
  parts_.progress->AddDecision(decision);
  if (verdict->sparsity_before == verdict->sparsity_after) return false;
  spdlog::info("step {}: {} compression costs {:.3f} % of the log-loss, compression.guard.bound is {:.3f} %: sparsity {:.6g} -> {:.6g}",
               step, finding.edge, 100 * verdict->cost, 100 * job_.compression().guard().bound(), verdict->sparsity_before,
               verdict->sparsity_after);
  return true;
}

}  // namespace weir::worker
