// Files that a reader sees whole or not at all.
#ifndef WEIR_TOOLS_REPORT_REPLACE_FILE_H_
#define WEIR_TOOLS_REPORT_REPLACE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weir::tools {

// Writes `parts`, one after the other, beside `path` and moves the file there, over an old one. UNAVAILABLE names the file; the old one is
// then still there.
absl::Status ReplaceFile(const std::string& path, absl::Span<const absl::string_view> parts);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_REPORT_REPLACE_FILE_H_
