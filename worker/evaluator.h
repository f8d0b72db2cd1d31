// Predicts held-out rows with the trained model and reports the scores to the coordinator, which computes the figures over all workers.
#ifndef WEIR_WORKER_EVALUATOR_H_
#define WEIR_WORKER_EVALUATOR_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/embedding_bags.h"
#include "worker/batch.h"
#include "worker/dense_model.h"

namespace weir::worker {

// Nothing is owned.
struct EvaluatorParts {
  BatchSource* source = nullptr;
  client::EmbeddingBags* bags = nullptr;
  DenseModel* model = nullptr;
  // Takes the probabilities and labels of one batch.
  std::function<absl::Status(absl::Span<const float> scores, absl::Span<const uint8_t> labels)> report;
};

// Reads the source to its end in batches of batch_size. Rows are looked up as they stand, through the job's lookup codec: what is evaluated
// is what was trained.
absl::Status Evaluate(const EvaluatorParts& parts, uint32_t dim, uint32_t batch_size);

}  // namespace weir::worker

#endif  // WEIR_WORKER_EVALUATOR_H_
