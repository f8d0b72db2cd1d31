#include "worker/evaluator.h"

#include <cmath>
#include <vector>

#include "base/status_macros.h"

namespace weir::worker {

absl::Status Evaluate(const EvaluatorParts& parts, uint32_t dim, uint32_t batch_size) {
  Batch batch;
  std::vector<float> pooled, logits, scores;
  std::vector<uint8_t> labels;
  for (int64_t number = 0;; ++number) {
    WEIR_RETURN_IF_ERROR(parts.source->Next(batch_size, &batch));
    if (batch.samples == 0) return absl::OkStatus();
    WEIR_ASSIGN_OR_RETURN(const auto lookup,
                          parts.bags->StartLookup(number, LookupRequest::PURPOSE_EVALUATE, batch.samples, batch.features));
    pooled.resize(size_t{batch.samples} * batch.features.size() * dim);
    logits.resize(batch.samples);
    WEIR_RETURN_IF_ERROR(lookup->Wait(absl::MakeSpan(pooled)));
    parts.model->Forward(batch.samples, batch.dense, pooled, absl::MakeSpan(logits));
    scores.clear();
    for (const float logit : logits) scores.push_back(1 / (1 + std::exp(-logit)));
    labels.assign(batch.labels.begin(), batch.labels.end());
    WEIR_RETURN_IF_ERROR(parts.report(scores, labels));
  }
}

}  // namespace weir::worker
