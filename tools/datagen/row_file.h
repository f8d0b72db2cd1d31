// A file of rows that appears under its name when it is whole.
#ifndef WEIR_TOOLS_DATAGEN_ROW_FILE_H_
#define WEIR_TOOLS_DATAGEN_ROW_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir::tools {

// Single-threaded. Errors name the file.
class RowFile {
 public:
  // "-" is standard output. A path that exists and is no regular file (a pipe, a device) is written in place.
  static absl::StatusOr<RowFile> Create(const std::string& path);
  RowFile(RowFile&& other) noexcept;
  RowFile& operator=(RowFile&&) = delete;
  // Without Commit nothing is left behind.
  ~RowFile();

  absl::Status Write(absl::string_view bytes);
  absl::Status Commit();

 private:
  RowFile(int fd, std::string path, std::string written_path) : fd_(fd), path_(std::move(path)), written_path_(std::move(written_path)) {}
  absl::Status Error(absl::string_view action) const;

  int fd_;  // -1: closed
  const std::string path_;
  const std::string written_path_;  // until Commit; path_ itself when written in place
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_DATAGEN_ROW_FILE_H_
