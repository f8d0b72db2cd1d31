#include "worker/progress.h"

#include <cmath>

#include "base/binary_metrics.h"
#include "base/socket_bytes.h"
#include "proto/control_client.h"

namespace weir::worker {
namespace {

void AddTo(const client::CodecStats& added, CodecReport* report) {
  report->set_edge(added.edge);
  report->set_name(added.name);
  report->set_key_bytes(report->key_bytes() + added.key_bytes);
  report->set_mask_bytes(report->mask_bytes() + added.bytes.mask);
  report->set_value_bytes(report->value_bytes() + added.bytes.values);
  report->set_header_bytes(report->header_bytes() + added.bytes.header);
  report->set_seconds(report->seconds() + added.seconds);
  if (added.stats.entries == 0) return;
  report->set_entries(report->entries() + added.stats.entries);
  report->set_kept(report->kept() + added.stats.kept);
  report->set_threshold(added.stats.threshold);
  report->set_residual_norm(added.stats.residual_norm);
  report->set_gradient_norm(added.stats.gradient_norm);
  report->set_density_asked(added.stats.density_asked);
}

}  // namespace

void Progress::SetPhase(WorkerProgress::Phase phase) {
  MutexLock lock(&mu_);
  progress_.set_phase(phase);
}

void Progress::AddStep(absl::Span<const float> logits, absl::Span<const float> labels) {
  MutexLock lock(&mu_);
  progress_.set_steps(progress_.steps() + 1);
  progress_.set_samples(progress_.samples() + labels.size());
  if (labels.empty()) return;
  TrainingWindow& window = *progress_.mutable_window();
  if (window.positives().empty()) {
    window.mutable_positives()->Resize(kScoreBins, 0);
    window.mutable_negatives()->Resize(kScoreBins, 0);
  }
  double logloss = 0, label_sum = 0, prediction_sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    logloss += LogLossOfLogit(logits[i], labels[i]);
    label_sum += labels[i];
    prediction_sum += 1 / (1 + std::exp(-static_cast<double>(logits[i])));
    auto& bins = labels[i] > 0.5f ? *window.mutable_positives() : *window.mutable_negatives();
    ++bins[ScoreBin(logits[i])];
  }
  window.set_samples(window.samples() + labels.size());
  window.set_logloss_sum(window.logloss_sum() + logloss);
  window.set_label_sum(window.label_sum() + label_sum);
  window.set_prediction_sum(window.prediction_sum() + prediction_sum);
}

void Progress::AddCodecStats(const std::vector<client::CodecStats>& stats) {
  MutexLock lock(&mu_);
  for (const client::CodecStats& added : stats) {
    AddTo(added, &codecs_[{added.edge, added.name}]);
    AddTo(added, &codec_totals_[{added.edge, added.name}]);
  }
}

void Progress::AddDecision(const GuardDecision& decision) {
  MutexLock lock(&mu_);
  *progress_.add_decisions() = decision;
}

void Progress::SetStepTimes(const StepSeconds& seconds, const StepWaits& waits) {
  MutexLock lock(&mu_);
  step_seconds_ = seconds;
  step_waits_ = waits;
  progress_.set_wait_seconds(seconds.lookup_wait() + seconds.push_wait() + seconds.reduce());
}

void Progress::SetBadRows(uint64_t rows) {
  MutexLock lock(&mu_);
  progress_.set_bad_rows(bad_rows_before_ + rows);
}

WorkerProgress Progress::Take() {
  MutexLock lock(&mu_);
  WorkerProgress taken = progress_;
  for (const auto& [name, report] : codecs_) *taken.add_codecs() = report;
  codecs_.clear();
  progress_.clear_window();
  progress_.clear_decisions();
  *taken.mutable_wire_bytes() = AllWireBytes();
  return taken;
}

WireBytes Progress::AllWireBytes() const {
  const EdgeBytes before = FromWireBytes(wire_bytes_before_);
  EdgeBytes bytes = CountedBytes();
  bytes.lookup_request += before.lookup_request;
  bytes.lookup_reply += before.lookup_reply;
  bytes.push += before.push;
  bytes.dense += before.dense;
  bytes.control += before.control;
  return ToWireBytes(bytes);
}

void Progress::VisitState(StateVisitor* state) {
  MutexLock lock(&mu_);
  int64_t steps = progress_.steps();
  uint64_t samples = progress_.samples();
  uint64_t bad_rows = progress_.bad_rows();
  EdgeBytes bytes = FromWireBytes(AllWireBytes());
  LeaveRequest totals;
  for (const auto& [name, report] : codec_totals_) *totals.add_codecs() = report;
  std::string codecs = totals.SerializeAsString();
  state->Number("steps", &steps);
  state->Count("samples", &samples);
  state->Count("bad_rows", &bad_rows);
  state->Count("lookup_request_bytes", &bytes.lookup_request);
  state->Count("lookup_reply_bytes", &bytes.lookup_reply);
  state->Count("push_bytes", &bytes.push);
  state->Count("dense_bytes", &bytes.dense);
  state->Count("control_bytes", &bytes.control);
  state->Text("codecs", &codecs);
  if (!state->restoring()) return;
  if (!totals.ParseFromString(codecs)) return state->Fail("codecs", "its bytes are no list of codecs");
  for (const CodecReport& report : totals.codecs()) codec_totals_[{report.edge(), report.name()}] = report;
  progress_.set_steps(steps);
  progress_.set_samples(samples);
  progress_.set_bad_rows(bad_rows);
  bad_rows_before_ = bad_rows;
  wire_bytes_before_ = ToWireBytes(bytes);
}

WireBytes Progress::wire_bytes() const {
  MutexLock lock(&mu_);
  return AllWireBytes();
}

uint64_t Progress::bad_rows() const {
  MutexLock lock(&mu_);
  return progress_.bad_rows();
}

int64_t Progress::steps() const {
  MutexLock lock(&mu_);
  return progress_.steps();
}

uint64_t Progress::samples() const {
  MutexLock lock(&mu_);
  return progress_.samples();
}

double Progress::wait_seconds() const {
  MutexLock lock(&mu_);
  return progress_.wait_seconds();
}

StepSeconds Progress::step_seconds() const {
  MutexLock lock(&mu_);
  return step_seconds_;
}

StepWaits Progress::step_waits() const {
  MutexLock lock(&mu_);
  return step_waits_;
}

std::vector<CodecReport> Progress::codec_totals() const {
  MutexLock lock(&mu_);
  std::vector<CodecReport> totals;
  for (const auto& [name, report] : codec_totals_) totals.push_back(report);
  return totals;
}

}  // namespace weir::worker
