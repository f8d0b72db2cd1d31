// Where the processes' binaries are.
#ifndef WEIR_TOOLS_LAUNCH_BINARIES_H_
#define WEIR_TOOLS_LAUNCH_BINARIES_H_

#include <string>

#include "absl/status/statusor.h"

namespace weir::tools {

struct Binaries {
  std::string coordinator;
  std::string server;
  std::string worker;
};

// Looks in `bin_dir`; when that is empty, beside `executable` (an installation) and then where Bazel puts them relative to it. NOT_FOUND
// names the binary and the places.
absl::StatusOr<Binaries> FindBinaries(const std::string& bin_dir, const std::string& executable);

// Path of the running program.
std::string ThisExecutable();

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_BINARIES_H_
