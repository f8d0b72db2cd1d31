// Files that are written. Every error (disk full, read-only folder) is reported, naming the path.
#ifndef WEIR_BASE_OUTPUT_FILE_H_
#define WEIR_BASE_OUTPUT_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir {

// A file that grows; what was written is visible to readers at once. Single-threaded.
class OutputFile {
 public:
  // Creates the file, or empties it.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  // Goes on behind the end of a file.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Continue(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  absl::Status Write(absl::string_view bytes);
  // Makes it durable.
  absl::Status Sync();

 private:
  OutputFile(std::string path, int fd);
  static absl::StatusOr<std::unique_ptr<OutputFile>> Open(const std::string& path, int flags);
  const std::string path_;
  const int fd_;
};

// Readers see the old file or the whole new one.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes);

}  // namespace weir

#endif  // WEIR_BASE_OUTPUT_FILE_H_
