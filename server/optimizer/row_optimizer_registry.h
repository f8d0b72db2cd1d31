// From a job's settings to an optimizer: the one list of those there are.
#ifndef WEIR_SERVER_OPTIMIZER_ROW_OPTIMIZER_REGISTRY_H_
#define WEIR_SERVER_OPTIMIZER_ROW_OPTIMIZER_REGISTRY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/optimizer/row_optimizer.h"

namespace weir::server {

// REQUIRES: all fields that the type reads are set. INVALID_ARGUMENT: no type.
absl::StatusOr<std::unique_ptr<RowOptimizer>> MakeRowOptimizer(const Optimizer& settings, uint32_t dim);

}  // namespace weir::server

#endif  // WEIR_SERVER_OPTIMIZER_ROW_OPTIMIZER_REGISTRY_H_
