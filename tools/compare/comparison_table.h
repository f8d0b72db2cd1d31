// A comparison as text, for a terminal or as Markdown. Pure.
#ifndef WEIR_TOOLS_COMPARE_COMPARISON_TABLE_H_
#define WEIR_TOOLS_COMPARE_COMPARISON_TABLE_H_

#include <string>

#include "tools/compare/comparison.h"

namespace weir::tools {

// Quality, bytes and time of each arm, then bytes per sample by edge, then what was refused, failed or is still to run. Ends with a
// newline.
std::string ComparisonTable(const Comparison& comparison);

// The same as Markdown.
std::string ComparisonMarkdown(const Comparison& comparison);

// A reason of a failure in one line: the first, which says who failed, and the last, which is the last word of its log.
std::string OneLine(const std::string& text);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARISON_TABLE_H_
