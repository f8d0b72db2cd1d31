// Data files as streams of lines: plain, .gz, .xz and .zst (chosen by the name's ending), in constant memory.
#ifndef WEIR_BASE_INPUT_FILE_H_
#define WEIR_BASE_INPUT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir {

// Single-threaded.
class LineReader {
 public:
  // Opens `path`. NOT_FOUND with the path.
  static absl::StatusOr<std::unique_ptr<LineReader>> Open(const std::string& path);
  virtual ~LineReader() = default;

  // The next line without its end ("\n" or "\r\n"), valid until the next call; false at the end. A last line without "\n" is a line.
  // DATA_LOSS, naming path and line: the compressed stream is corrupt or ends early, or a line is longer than base/limits.h kLineBytesMax.
  virtual absl::StatusOr<bool> Next(absl::string_view* line) = 0;

  // Goes to the line that starts at this offset of the uncompressed content and has this number (from 1). Plain files seek; compressed
  // ones go forward by decompressing, and start again to go back. OUT_OF_RANGE: past the end.
  virtual absl::Status Seek(uint64_t byte_offset, uint64_t line_number) = 0;

  // Offset in the uncompressed content, and number from 1, of the line that Next will give.
  virtual uint64_t byte_offset() const = 0;
  virtual uint64_t line_number() const = 0;
};

// Lines of all files together. Errors as those of LineReader.
absl::StatusOr<uint64_t> CountRows(const std::vector<std::string>& paths);

}  // namespace weir

#endif  // WEIR_BASE_INPUT_FILE_H_
