#include "tools/datagen/row_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::tools {

absl::StatusOr<RowFile> RowFile::Create(const std::string& path) {
  if (path == "-") return RowFile(dup(STDOUT_FILENO), path, path);
  struct stat about;
  const bool in_place = stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  const std::string written_path = in_place ? path : absl::StrCat(path, ".partial");
  const int fd = open(written_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return RowFile(fd, path, written_path);
}

RowFile::RowFile(RowFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(other.path_), written_path_(other.written_path_) {}

RowFile::~RowFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (written_path_ != path_) unlink(written_path_.c_str());
}

absl::Status RowFile::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error("write");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status RowFile::Commit() {
  if (close(std::exchange(fd_, -1)) != 0) return Error("write");
  if (written_path_ != path_ && std::rename(written_path_.c_str(), path_.c_str()) != 0) return Error("rename the finished");
  return absl::OkStatus();
}

absl::Status RowFile::Error(absl::string_view action) const {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", action, " ", path_ == "-" ? "standard output" : path_));
}

}  // namespace weir::tools
