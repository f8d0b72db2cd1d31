// The comparison's page without its data, made by tools/report/embed_page.py when Weir is built.
#ifndef WEIR_TOOLS_COMPARE_COMPARISON_PAGE_H_
#define WEIR_TOOLS_COMPARE_COMPARISON_PAGE_H_

namespace weir::tools {

// The page is kComparisonPageBeforeData, the object of comparison_json.h in which every '<' is escaped, kComparisonPageAfterData.
extern const char kComparisonPageBeforeData[];
extern const char kComparisonPageAfterData[];

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARISON_PAGE_H_
