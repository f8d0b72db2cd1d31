#include "tools/compare/comparison_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir::tools {

absl::StatusOr<ComparisonFolder> ComparisonFolder::Open(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder of the comparison ", dir));
  // The folder itself carries the lock: no file of its own is left behind.
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the folder of the comparison ", dir));
  ComparisonFolder folder(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return folder;
  if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock the folder of the comparison ", dir));
  return absl::FailedPreconditionError(absl::StrCat("another weir compare runs in ", dir, "; wait for its end, or take another --out"));
}

ComparisonFolder::~ComparisonFolder() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace weir::tools
