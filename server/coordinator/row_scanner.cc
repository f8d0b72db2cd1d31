#include "server/coordinator/row_scanner.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace weir::server {

absl::StatusOr<RowRun> RowScanner::Take(uint64_t rows_max) {
  RowRun run;
  while (run.rows < rows_max && position_.file < files_.size()) {
    if (reader_ == nullptr) WEIR_RETURN_IF_ERROR(OpenFile());
    if (run.rows == 0) run.start = {position_.file, reader_->byte_offset(), reader_->line_number()};
    WEIR_ASSIGN_OR_RETURN(const bool row, PassRow());
    if (row) {
      ++run.rows;
      continue;
    }
    position_ = {position_.file + 1};
    reader_ = nullptr;
    if (run.rows > 0) break;
  }
  return run;
}

RowPosition RowScanner::position() const {
  return reader_ == nullptr ? position_ : RowPosition{position_.file, reader_->byte_offset(), reader_->line_number()};
}

absl::Status RowScanner::OpenFile() {
  WEIR_ASSIGN_OR_RETURN(reader_, LineReader::Open(files_[position_.file]));
  return reader_->Seek(position_.byte_offset, position_.line);
}

absl::StatusOr<bool> RowScanner::PassRow() {
  absl::string_view line;
  WEIR_ASSIGN_OR_RETURN(const bool any, reader_->Next(&line));
  if (!any || !line.empty()) return any;
  // An empty line is a row only if another line follows. Going back by the line that was just read costs nothing.
  const uint64_t next_offset = reader_->byte_offset();
  const uint64_t next_line = reader_->line_number();
  WEIR_ASSIGN_OR_RETURN(const bool more, reader_->Next(&line));
  if (more) WEIR_RETURN_IF_ERROR(reader_->Seek(next_offset, next_line));
  return more;
}

}  // namespace weir::server
