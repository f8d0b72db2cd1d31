// Gathers the predictions of all held-out rows, for exact figures at the end.
#ifndef WEIR_SERVER_COORDINATOR_EVALUATION_H_
#define WEIR_SERVER_COORDINATOR_EVALUATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "base/binary_metrics.h"
#include "proto/control_service.pb.h"

namespace weir::server {

// 5 bytes of memory a row. Past it: RESOURCE_EXHAUSTED.
inline constexpr uint64_t kEvaluationRowsMax = uint64_t{1} << 30;

// Thread-compatible; movable.
class Evaluation {
 public:
  explicit Evaluation(uint32_t workers) : next_request_(workers) {}

  // Adds the rows of a report. Each worker numbers its reports from 0; one that was added before is ignored. INVALID_ARGUMENT, naming the
  // row: a number out of order, a score that is no probability, a label that is neither 0 nor 1; nothing was added. REQUIRES: worker_rank <
  // workers.
  absl::Status Add(const ReportEvaluationRequest& request);

  uint64_t samples() const { return scores_.size(); }
  double mean_label() const;  // 0 without samples
  // Exact; O(n log n). REQUIRES: samples() > 0.
  BinaryQuality Quality() const { return EvaluateBinary(scores_, labels_); }

 private:
  std::vector<uint64_t> next_request_;  // by worker rank
  std::vector<float> scores_;
  std::vector<uint8_t> labels_;
  uint64_t positives_ = 0;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_EVALUATION_H_
