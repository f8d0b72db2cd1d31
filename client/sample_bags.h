// Embedding bags in sample scope (DCT-MP): pooled vectors travel, thresholded for each sample; gradients come back under the same mask.
#ifndef WEIR_CLIENT_SAMPLE_BAGS_H_
#define WEIR_CLIENT_SAMPLE_BAGS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/embedding_bags.h"
#include "client/server_group.h"

namespace weir::client {

// The group outlives it. INVALID_ARGUMENT: a sparsity outside [0, 1), or a push method: a push sends what the lookup kept.
absl::StatusOr<std::unique_ptr<EmbeddingBags>> CreateSampleBags(const ServerGroup* group, const BagsOptions& options);

}  // namespace weir::client

#endif  // WEIR_CLIENT_SAMPLE_BAGS_H_
