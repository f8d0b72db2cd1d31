// Early return on error, the only control-flow macros of the project.
#ifndef WEIR_BASE_STATUS_MACROS_H_
#define WEIR_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define WEIR_RETURN_IF_ERROR(expression)                                                \
  do {                                                                                  \
    if (absl::Status weir_status = (expression); !weir_status.ok()) return weir_status; \
  } while (false)

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

// WEIR_ASSIGN_OR_RETURN(auto x, F()): x = *F(), or return its error. Not usable as the sole statement of an `if`.
#define WEIR_ASSIGN_OR_RETURN(lhs, expression) WEIR_ASSIGN_OR_RETURN_INNER(WEIR_CONCAT(weir_or_, __LINE__), lhs, expression)
#define WEIR_ASSIGN_OR_RETURN_INNER(statusor, lhs, expression) \
  auto statusor = (expression);                                \
  if (!statusor.ok()) return std::move(statusor).status();     \
  lhs = *std::move(statusor)

#endif  // WEIR_BASE_STATUS_MACROS_H_
