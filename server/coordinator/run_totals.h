// What the workers did, summed: windows of training, bytes on the wire, codecs. Every heartbeat counts once.
#ifndef WEIR_SERVER_COORDINATOR_RUN_TOTALS_H_
#define WEIR_SERVER_COORDINATOR_RUN_TOTALS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/binary_metrics.h"
#include "proto/control_service.pb.h"

namespace weir::server {

// Quality of the samples of a stretch of training, before the update of their step.
class QualityWindow {
 public:
  void Add(const TrainingWindow& window);

  uint64_t samples() const { return samples_; }
  double logloss() const;  // mean; NaN without samples
  double auc() const;      // from the histograms (base/binary_metrics.h); NaN without samples

 private:
  uint64_t samples_ = 0;
  double logloss_sum_ = 0;
  std::array<uint64_t, kScoreBins> positives_{};
  std::array<uint64_t, kScoreBins> negatives_{};
};

// One codec over a stretch of training.
struct CodecLine {
  std::string edge;
  std::string name;
  double density = 0;         // kept / entries
  double density_asked = 0;   // the last one; 0: nothing is selected
  double threshold = 0;       // the last one
  double residual_ratio = 0;  // norm of the residual / norm of the gradient, the last ones; 0 without a gradient
};

// Adds what travelled and counts; thresholds, norms and what is asked for are those of the later one.
void AddCodecReport(const CodecReport& later, CodecReport* sum);
// Adds `bytes` edge by edge.
void AddWireBytes(const WireBytes& bytes, WireBytes* sum);
// Edge by edge, not below 0.
WireBytes SubtractWireBytes(const WireBytes& bytes, const WireBytes& part);

// Thread-compatible.
class RunTotals {
 public:
  explicit RunTotals(uint32_t workers) : workers_(workers) {}

  // Counts a heartbeat's progress unless this or a later sequence number of the worker was counted before (they start at 1).
  // INVALID_ARGUMENT: a histogram of the wrong size, too many codecs; nothing is counted. REQUIRES: rank < workers.
  struct Beat {
    uint32_t rank = 0;
    uint64_t sequence = 0;
    absl::Time now;
  };
  absl::Status Add(const Beat& beat, const WorkerProgress& progress);
  // A worker's last figures; they replace those of its heartbeats.
  void AddLeave(const LeaveRequest& request);

  uint64_t samples() const;
  int64_t steps() const;  // of the job: the furthest worker's
  uint64_t bad_rows() const;
  double wait_seconds() const;              // of all workers together
  double train_seconds() const;             // the longest, of those that left
  WireBytes wire_bytes() const;             // of the workers
  WireBytes wire_bytes_evaluation() const;  // of those that left
  // Of the workers that left: every codec, by edge and name, where their time went, and how often they waited.
  std::vector<CodecReport> codecs() const;
  StepSeconds step_seconds() const { return step_seconds_; }
  StepWaits step_waits() const { return step_waits_; }
  // Every worker is past training.
  bool AllPastTraining() const;

  // The last full stretch of about a second; what there is of the first before that.
  const QualityWindow& recent() const { return last_second_.samples() > 0 ? last_second_ : this_second_; }

  // What was counted since the last TakeLine.
  struct Line {
    QualityWindow quality;
    absl::Time last_window = absl::InfinitePast();  // arrival; InfinitePast: none
    std::vector<CodecLine> codecs;                  // of worker 0
    std::vector<GuardDecision> decisions;           // of all workers
  };
  uint64_t line_samples() const { return line_.samples(); }
  size_t line_decisions() const { return line_decisions_.size(); }
  Line TakeLine();

 private:
  struct Worker {
    uint64_t sequence = 0;
    WorkerProgress::Phase phase = WorkerProgress::PHASE_UNSPECIFIED;
    uint64_t samples = 0;
    int64_t steps = 0;
    uint64_t bad_rows = 0;
    double wait_seconds = 0;
    double train_seconds = 0;
    WireBytes wire_bytes;
    WireBytes wire_bytes_evaluation;
  };
  void AddWindow(const TrainingWindow& window, absl::Time now);
  void AddCodec(const CodecReport& report);
  void AddDecisions(const google::protobuf::RepeatedPtrField<GuardDecision>& decisions);

  std::vector<Worker> workers_;  // by rank
  QualityWindow last_second_;
  QualityWindow this_second_;
  absl::Time this_second_began_ = absl::InfinitePast();
  QualityWindow line_;
  absl::Time line_last_window_ = absl::InfinitePast();
  std::map<std::pair<std::string, std::string>, CodecReport> line_codecs_;  // by edge and name; entries and kept are sums
  std::vector<GuardDecision> line_decisions_;
  std::map<std::pair<std::string, std::string>, CodecReport> codecs_;  // of those that left, by edge and name
  StepSeconds step_seconds_;
  StepWaits step_waits_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_RUN_TOTALS_H_
