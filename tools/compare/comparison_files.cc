#include "tools/compare/comparison_files.h"

#include <filesystem>

#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "tools/compare/comparison_json.h"
#include "tools/compare/comparison_page.h"
#include "tools/compare/comparison_table.h"
#include "tools/report/replace_file.h"

namespace weir::tools {

absl::Status WriteComparison(const std::string& dir, const Comparison& comparison) {
  const std::string json = ComparisonJson(comparison);
  const std::filesystem::path folder(dir);
  WEIR_RETURN_IF_ERROR(ReplaceFile((folder / "compare.json").string(), {json, "\n"}));
  WEIR_RETURN_IF_ERROR(ReplaceFile((folder / "compare.md").string(), {ComparisonMarkdown(comparison)}));
  // JSON that cannot end the script element that it stands in, whatever names and settings hold.
  const std::string data = absl::StrReplaceAll(json, {{"<", "\\u003c"}});
  return ReplaceFile((folder / "compare.html").string(), {kComparisonPageBeforeData, data, kComparisonPageAfterData});
}

}  // namespace weir::tools
