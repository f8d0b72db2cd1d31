// What a comparison leaves beside its runs.
#ifndef WEIR_TOOLS_COMPARE_COMPARISON_FILES_H_
#define WEIR_TOOLS_COMPARE_COMPARISON_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "tools/compare/comparison.h"

namespace weir::tools {

// Writes <dir>/compare.json and <dir>/compare.html, replacing old ones. The page needs no network and no other file; it links to the runs'
// reports beside it. Errors as for ReplaceFile.
absl::Status WriteComparison(const std::string& dir, const Comparison& comparison);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARISON_FILES_H_
