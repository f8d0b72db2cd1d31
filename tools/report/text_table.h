// Tables for a terminal, or for Markdown. Pure.
#ifndef WEIR_TOOLS_REPORT_TEXT_TABLE_H_
#define WEIR_TOOLS_REPORT_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace weir::tools {

// One line of cells for each element, as wide as the widest: the first column to the left, the others, which are figures, to the right.
// Cells are UTF-8. A line may have fewer cells than the first, not more.
std::string TextTable(absl::Span<const std::vector<std::string>> lines);

// The same as Markdown: the first line is the head. Bars in cells are escaped.
std::string MarkdownTable(absl::Span<const std::vector<std::string>> lines);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_REPORT_TEXT_TABLE_H_
