// `weir datagen`: writes Criteo-shaped training data with labels of a hidden teacher (row_generator.h).
#ifndef WEIR_TOOLS_DATAGEN_DATAGEN_H_
#define WEIR_TOOLS_DATAGEN_DATAGEN_H_

#include <cstdint>
#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "tools/datagen/row_generator.h"

namespace weir::tools {

struct DatagenOptions {
  uint64_t rows = 0;
  std::string out;         // a file, or "-" for standard output
  uint64_t test_rows = 0;  // the rows that come next, in a file of their own
  std::string test_out;    // with test_rows only
  uint32_t threads = 0;    // 0: one a core
  RowOptions row;
};

// Writes the rows, and beside each file FILE.json with the teacher's own quality on them: rows, seed, teacher_seed, ctr, logloss, auc. The
// same options give the same bytes, whatever `threads` is. Memory is constant. A file appears under its name when it is whole. Progress and
// a summary go to standard error. Errors: INVALID_ARGUMENT names the option; an error of the system names the file.
absl::Status RunDatagen(const DatagenOptions& options);

// Adds the subcommand; when it is the one that is called, *status becomes its outcome while `app` parses. `status` outlives the parsing.
void AddDatagenCommand(CLI::App* app, absl::Status* status);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_DATAGEN_DATAGEN_H_
