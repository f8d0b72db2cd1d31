#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weir {
namespace {

absl::Status FileError(absl::string_view doing, absl::string_view path) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", doing, " ", path));
}

}  // namespace

OutputFile::OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

OutputFile::~OutputFile() { close(fd_); }

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Open(const std::string& path, int flags) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0644);
  if (fd < 0) return FileError((flags & O_CREAT) != 0 ? "create" : "open", path);
  return std::unique_ptr<OutputFile>(new OutputFile(path, fd));
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) { return Open(path, O_CREAT | O_TRUNC); }
absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Continue(const std::string& path) { return Open(path, 0); }

absl::Status OutputFile::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return FileError("write", path_);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Sync() { return fsync(fd_) == 0 ? absl::OkStatus() : FileError("write", path_); }

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes) {
  const std::string unfinished = absl::StrCat(path, ".unfinished");
  {
    WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(unfinished));
    WEIR_RETURN_IF_ERROR(file->Write(bytes));
    WEIR_RETURN_IF_ERROR(file->Sync());
  }
  return rename(unfinished.c_str(), path.c_str()) == 0 ? absl::OkStatus() : FileError("write", path);
}

}  // namespace weir
