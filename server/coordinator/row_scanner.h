// Walks over the rows of a list of files: where runs of rows start, not what they hold.
#ifndef WEIR_SERVER_COORDINATOR_ROW_SCANNER_H_
#define WEIR_SERVER_COORDINATOR_ROW_SCANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/input_file.h"

namespace weir::server {

// A line in the files of a set.
struct RowPosition {
  uint32_t file = 0;         // index in the list
  uint64_t byte_offset = 0;  // in the uncompressed content
  uint64_t line = 1;
};

// Consecutive rows of one file.
struct RowRun {
  RowPosition start;
  uint64_t rows = 0;  // 0: no rows are left
};

// Every line of the files is a row, except an empty last line of a file. Single-threaded. After an error it is of no more use.
class RowScanner {
 public:
  explicit RowScanner(std::vector<std::string> files, RowPosition from = {}) : files_(std::move(files)), position_(from) {}

  // The next rows: fewer than rows_max only where a file ends. Errors of LineReader, naming file and line.
  absl::StatusOr<RowRun> Take(uint64_t rows_max);
  // Where the next Take begins to look.
  RowPosition position() const;

 private:
  absl::Status OpenFile();
  // Reads past the next row; false at the end of the file.
  absl::StatusOr<bool> PassRow();

  const std::vector<std::string> files_;
  RowPosition position_;                // its file is the one being read, the rest is where to start in it
  std::unique_ptr<LineReader> reader_;  // null: that file is not open yet
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_ROW_SCANNER_H_
