// Where the bytes and milliseconds of a run's steps went, as text. Pure.
#ifndef WEIR_TOOLS_EXPLAIN_ACCOUNT_TABLE_H_
#define WEIR_TOOLS_EXPLAIN_ACCOUNT_TABLE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "tools/report/run_folder.h"

namespace weir::tools {

struct AccountOptions {
  size_t lines_max = 24;  // of tables and layers; the rest is counted
};

// Three tables: bytes a sample by edge (keys, masks, values, headers of frames, and what the socket counted beyond them: messages, HTTP/2);
// the same for each table and layer, largest first, with the density asked and sent; milliseconds of a step by phase. Then a sentence on
// the largest term. FAILED_PRECONDITION: the run was made by a version that kept no account.
absl::StatusOr<std::string> AccountTable(const RunResult& run, const AccountOptions& options);

// The same as JSON.
absl::StatusOr<std::string> AccountJson(const RunResult& run);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_EXPLAIN_ACCOUNT_TABLE_H_
