// The tables of the DCT paper (Gupta et al., KDD 2021; first version arXiv:2010.08899, section 5) as a comparison: its arms, its published
// figures, and how ours stand beside them. Pure.
#ifndef WEIR_TOOLS_EXPERIMENT_DCT_PAPER_H_
#define WEIR_TOOLS_EXPERIMENT_DCT_PAPER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/compare/comparison.h"
#include "tools/compare/grid.h"

namespace weir::tools {

// A row of one of the paper's tables: DLRM on Criteo's Kaggle data.
struct PublishedRow {
  std::string arm;     // of the comparison; "dense" is the yardstick of all
  std::string text;    // "90 %"
  double logloss = 0;  // on the paper's test day
};

struct PublishedTable {
  std::string id;  // for --only
  std::string title;
  std::vector<PublishedRow> rows;
};

inline constexpr double kPublishedDense = 0.4538;

absl::Span<const PublishedTable> PublishedTables();

// The arms of these tables, "dense" first. INVALID_ARGUMENT: an id that no table has; empty: all.
absl::StatusOr<std::vector<ArmSettings>> PaperArms(const std::vector<std::string>& only);

// The job that all arms start from, as YAML: the paper's sizes, one worker and one server, nothing compressed; rates that fall to nothing
// over the second half of `rows` less the held-out ones.
struct PaperData {
  std::vector<std::string> files;
  uint64_t rows = 0;
  uint64_t test_rows = 0;
};
std::string PaperJob(const std::string& name, const PaperData& data);

// Markdown: for each table whose arms have results the published log-loss and its distance from the published dense one, beside ours; the
// density that crossed; what to think of it.
std::string PaperReport(const Comparison& comparison);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_EXPERIMENT_DCT_PAPER_H_
