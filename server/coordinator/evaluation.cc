#include "server/coordinator/evaluation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace weir::server {
namespace {

absl::Status CheckRows(const ReportEvaluationRequest& request) {
  const size_t count = request.labels().size();
  if (static_cast<size_t>(request.scores_size()) != count) {
    return absl::InvalidArgumentError(absl::StrCat("a report has ", request.scores_size(), " scores but ", count, " labels"));
  }
  if (count > kSamplesPerCallMax) return absl::InvalidArgumentError(absl::StrCat("a report has at most ", kSamplesPerCallMax, " rows"));
  for (size_t row = 0; row < count; ++row) {
    const float score = request.scores(static_cast<int>(row));
    if (!(score >= 0 && score <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("worker ", request.worker_rank(), " predicts ", score, " in row ", row,
                                                     " of a report: not a probability; the model has diverged, lower its learning rates"));
    }
    if (const uint8_t label = request.labels()[row]; label > 1) {
      return absl::InvalidArgumentError(absl::StrCat("row ", row, " of a report has label ", label, "; labels are 0 or 1"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Evaluation::Add(const ReportEvaluationRequest& request) {
  uint64_t& next = next_request_[request.worker_rank()];
  if (request.request() < next) return absl::OkStatus();
  if (request.request() > next) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", request.worker_rank(), " sends evaluation report ", request.request(), " before report ", next));
  }
  if (absl::Status status = CheckRows(request); !status.ok()) return status;
  if (samples() + request.labels().size() > kEvaluationRowsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an exact evaluation takes at most ", kEvaluationRowsMax, " held-out rows; hold out fewer"));
  }
  scores_.insert(scores_.end(), request.scores().begin(), request.scores().end());
  labels_.insert(labels_.end(), request.labels().begin(), request.labels().end());
  positives_ += static_cast<uint64_t>(std::count(request.labels().begin(), request.labels().end(), '\1'));
  ++next;
  return absl::OkStatus();
}

double Evaluation::mean_label() const { return samples() > 0 ? static_cast<double>(positives_) / static_cast<double>(samples()) : 0; }

}  // namespace weir::server
