// Embedding bags in row scope: rows travel, the worker pools. Methods plain, none and fp16 on the lookup; plain, none, fp16 and dct on the
// push.
#ifndef WEIR_CLIENT_ROW_BAGS_H_
#define WEIR_CLIENT_ROW_BAGS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/embedding_bags.h"
#include "client/server_group.h"

namespace weir::client {

// The group outlives it. INVALID_ARGUMENT: a method that this scope does not have.
absl::StatusOr<std::unique_ptr<EmbeddingBags>> CreateRowBags(const ServerGroup* group, const BagsOptions& options);

}  // namespace weir::client

#endif  // WEIR_CLIENT_ROW_BAGS_H_
