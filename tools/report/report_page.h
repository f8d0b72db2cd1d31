// The report's page without its data: report.html with report.css and the scripts put in, made by embed_page.py when Weir is built.
#ifndef WEIR_TOOLS_REPORT_REPORT_PAGE_H_
#define WEIR_TOOLS_REPORT_REPORT_PAGE_H_

namespace weir::tools {

// The page is kPageBeforeData, one JSON object in which every '<' is escaped, kPageAfterData.
extern const char kPageBeforeData[];
extern const char kPageAfterData[];

}  // namespace weir::tools

#endif  // WEIR_TOOLS_REPORT_REPORT_PAGE_H_
