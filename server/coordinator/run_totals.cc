#include "server/coordinator/run_totals.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/limits.h"

namespace weir::server {
namespace {

constexpr size_t kCodecsMax = 2 * size_t{kTablesMax} + 4096;  // lookup and push of every table, and layers
constexpr size_t kCodecNameBytesMax = 256;
constexpr size_t kDecisionsMax = 65536;  // of one line

bool IsHistogram(const google::protobuf::RepeatedField<uint32_t>& bins) { return bins.empty() || bins.size() == kScoreBins; }

absl::Status Check(const WorkerProgress& progress) {
  if (!IsHistogram(progress.window().positives()) || !IsHistogram(progress.window().negatives())) {
    return absl::InvalidArgumentError(absl::StrCat("a score histogram has ", kScoreBins, " bins or none"));
  }
  if (static_cast<size_t>(progress.codecs_size()) > kCodecsMax)
    return absl::InvalidArgumentError(absl::StrCat("at most ", kCodecsMax, " codecs report"));
  for (const GuardDecision& decision : progress.decisions()) {
    if (decision.edge().size() > kCodecNameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("a guarded edge has at most ", kCodecNameBytesMax, " bytes"));
    }
  }
  for (const CodecReport& codec : progress.codecs()) {
    if (codec.edge().size() > kCodecNameBytesMax || codec.name().size() > kCodecNameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("a codec's edge and name have at most ", kCodecNameBytesMax, " bytes"));
    }
  }
  return absl::OkStatus();
}

void AddStepSeconds(const StepSeconds& later, StepSeconds* sum) {
  sum->set_read(sum->read() + later.read());
  sum->set_lookup_wait(sum->lookup_wait() + later.lookup_wait());
  sum->set_forward(sum->forward() + later.forward());
  sum->set_backward(sum->backward() + later.backward());
  sum->set_push_wait(sum->push_wait() + later.push_wait());
  sum->set_checkpoint(sum->checkpoint() + later.checkpoint());
  sum->set_push_encode(sum->push_encode() + later.push_encode());
  sum->set_reduce(sum->reduce() + later.reduce());
  sum->set_update(sum->update() + later.update());
  sum->set_guard(sum->guard() + later.guard());
}

void AddStepWaits(const StepWaits& later, StepWaits* sum) {
  sum->set_lookup(sum->lookup() + later.lookup());
  sum->set_push(sum->push() + later.push());
  sum->set_reduce(sum->reduce() + later.reduce());
}

uint64_t Minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

}  // namespace

void QualityWindow::Add(const TrainingWindow& window) {
  samples_ += window.samples();
  logloss_sum_ += window.logloss_sum();
  for (int bin = 0; bin < window.positives_size(); ++bin) positives_[bin] += window.positives(bin);
  for (int bin = 0; bin < window.negatives_size(); ++bin) negatives_[bin] += window.negatives(bin);
}

double QualityWindow::logloss() const {
  return samples_ > 0 ? logloss_sum_ / static_cast<double>(samples_) : std::numeric_limits<double>::quiet_NaN();
}

double QualityWindow::auc() const { return samples_ > 0 ? AucOfBins(positives_, negatives_) : std::numeric_limits<double>::quiet_NaN(); }

void AddCodecReport(const CodecReport& later, CodecReport* sum) {
  CodecReport added = later;
  if (later.entries() == 0) {
    added = *sum;
    added.set_edge(later.edge());
    added.set_name(later.name());
  }
  added.set_entries(sum->entries() + later.entries());
  added.set_kept(sum->kept() + later.kept());
  added.set_key_bytes(sum->key_bytes() + later.key_bytes());
  added.set_mask_bytes(sum->mask_bytes() + later.mask_bytes());
  added.set_value_bytes(sum->value_bytes() + later.value_bytes());
  added.set_header_bytes(sum->header_bytes() + later.header_bytes());
  added.set_seconds(sum->seconds() + later.seconds());
  *sum = added;
}

void AddWireBytes(const WireBytes& bytes, WireBytes* sum) {
  sum->set_lookup_request(sum->lookup_request() + bytes.lookup_request());
  sum->set_lookup_reply(sum->lookup_reply() + bytes.lookup_reply());
  sum->set_push(sum->push() + bytes.push());
  sum->set_dense(sum->dense() + bytes.dense());
  sum->set_control(sum->control() + bytes.control());
}

WireBytes SubtractWireBytes(const WireBytes& bytes, const WireBytes& part) {
  WireBytes rest;
  rest.set_lookup_request(Minus(bytes.lookup_request(), part.lookup_request()));
  rest.set_lookup_reply(Minus(bytes.lookup_reply(), part.lookup_reply()));
  rest.set_push(Minus(bytes.push(), part.push()));
  rest.set_dense(Minus(bytes.dense(), part.dense()));
  rest.set_control(Minus(bytes.control(), part.control()));
  return rest;
}

absl::Status RunTotals::Add(const Beat& beat, const WorkerProgress& progress) {
  if (absl::Status status = Check(progress); !status.ok()) return status;
  Worker& worker = workers_[beat.rank];
  if (beat.sequence <= worker.sequence) return absl::OkStatus();
  worker.sequence = beat.sequence;
  worker.phase = progress.phase();
  worker.samples = progress.samples();
  worker.steps = progress.steps();
  worker.bad_rows = progress.bad_rows();
  worker.wait_seconds = progress.wait_seconds();
  worker.wire_bytes = progress.wire_bytes();
  AddWindow(progress.window(), beat.now);
  AddDecisions(progress.decisions());
  if (beat.rank == 0) {
    for (const CodecReport& codec : progress.codecs()) AddCodec(codec);
  }
  return absl::OkStatus();
}

void RunTotals::AddWindow(const TrainingWindow& window, absl::Time now) {
  if (window.samples() == 0) return;
  if (this_second_.samples() == 0) {
    this_second_began_ = now;
  } else if (now - this_second_began_ >= absl::Seconds(1)) {
    last_second_ = this_second_;
    this_second_ = QualityWindow();
    this_second_began_ = now;
  }
  this_second_.Add(window);
  line_.Add(window);
  line_last_window_ = now;
}

void RunTotals::AddCodec(const CodecReport& report) {
  const std::pair<std::string, std::string> name(report.edge(), report.name());
  if (line_codecs_.size() >= kCodecsMax && line_codecs_.find(name) == line_codecs_.end()) return;
  AddCodecReport(report, &line_codecs_[name]);
}

void RunTotals::AddDecisions(const google::protobuf::RepeatedPtrField<GuardDecision>& decisions) {
  for (const GuardDecision& decision : decisions) {
    if (line_decisions_.size() < kDecisionsMax) line_decisions_.push_back(decision);
  }
}

void RunTotals::AddLeave(const LeaveRequest& request) {
  AddDecisions(request.decisions());
  for (const CodecReport& codec : request.codecs()) {
    if (codecs_.size() < kCodecsMax) AddCodecReport(codec, &codecs_[{codec.edge(), codec.name()}]);
  }
  AddStepSeconds(request.step_seconds(), &step_seconds_);
  AddStepWaits(request.step_waits(), &step_waits_);
  Worker& worker = workers_[request.index()];
  worker.phase = WorkerProgress::PHASE_DONE;
  worker.samples = request.samples();
  worker.bad_rows = request.bad_rows();
  worker.wait_seconds = request.wait_seconds();
  worker.train_seconds = request.train_seconds();
  worker.wire_bytes = request.wire_bytes();
  worker.wire_bytes_evaluation = request.wire_bytes_evaluation();
}

uint64_t RunTotals::samples() const {
  uint64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.samples;
  return sum;
}

int64_t RunTotals::steps() const {
  int64_t furthest = 0;
  for (const Worker& worker : workers_) furthest = std::max(furthest, worker.steps);
  return furthest;
}

uint64_t RunTotals::bad_rows() const {
  uint64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.bad_rows;
  return sum;
}

double RunTotals::wait_seconds() const {
  double sum = 0;
  for (const Worker& worker : workers_) sum += worker.wait_seconds;
  return sum;
}

double RunTotals::train_seconds() const {
  double longest = 0;
  for (const Worker& worker : workers_) longest = std::max(longest, worker.train_seconds);
  return longest;
}

WireBytes RunTotals::wire_bytes() const {
  WireBytes sum;
  for (const Worker& worker : workers_) AddWireBytes(worker.wire_bytes, &sum);
  return sum;
}

WireBytes RunTotals::wire_bytes_evaluation() const {
  WireBytes sum;
  for (const Worker& worker : workers_) AddWireBytes(worker.wire_bytes_evaluation, &sum);
  return sum;
}

std::vector<CodecReport> RunTotals::codecs() const {
  std::vector<CodecReport> codecs;
  for (const auto& [name, codec] : codecs_) codecs.push_back(codec);
  return codecs;
}

bool RunTotals::AllPastTraining() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return worker.phase >= WorkerProgress::PHASE_EVALUATING; });
}

RunTotals::Line RunTotals::TakeLine() {
  Line taken;
  for (const auto& [name, sum] : line_codecs_) {
    if (sum.entries() == 0) continue;  // it has no thresholds
    CodecLine line;
    line.edge = name.first;
    line.name = name.second;
    line.density = sum.entries() > 0 ? static_cast<double>(sum.kept()) / static_cast<double>(sum.entries()) : 0;
    line.density_asked = sum.density_asked();
    line.threshold = sum.threshold();
    line.residual_ratio = sum.gradient_norm() > 0 ? sum.residual_norm() / sum.gradient_norm() : 0;
    taken.codecs.push_back(std::move(line));
  }
  line_codecs_.clear();
  taken.decisions = std::exchange(line_decisions_, {});
  taken.quality = std::exchange(line_, QualityWindow());
  taken.last_window = std::exchange(line_last_window_, absl::InfinitePast());
  return taken;
}

}  // namespace weir::server
