#include "tools/launch/binaries.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace weir::tools {
namespace {

struct Wanted {
  const char* name;
  const char* bazel_folder;  // in bazel-bin
};

absl::StatusOr<std::string> Find(const std::string& bin_dir, const std::string& executable, const Wanted& wanted) {
  const std::filesystem::path beside = std::filesystem::path(executable).parent_path();
  std::vector<std::filesystem::path> folders;
  if (bin_dir.empty()) {
    folders = {beside, beside.parent_path() / wanted.bazel_folder};
  } else {
    folders = {bin_dir};
  }
  std::vector<std::string> tried;
  for (const std::filesystem::path& folder : folders) {
    const std::string path = (folder / wanted.name).string();
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0) return path;
    tried.push_back(path);
  }
  return absl::NotFoundError(absl::StrCat("no binary ", wanted.name, " at ", absl::StrJoin(tried, " or "),
                                          "; build it (bazel build //...), or name its folder with --bin-dir"));
}

}  // namespace

absl::StatusOr<Binaries> FindBinaries(const std::string& bin_dir, const std::string& executable) {
  Binaries found;
  WEIR_ASSIGN_OR_RETURN(found.coordinator, Find(bin_dir, executable, {"weir-coordinator", "server/coordinator"}));
  WEIR_ASSIGN_OR_RETURN(found.server, Find(bin_dir, executable, {"weir-server", "server"}));
  WEIR_ASSIGN_OR_RETURN(found.worker, Find(bin_dir, executable, {"weir-worker", "worker"}));
  return found;
}

std::string ThisExecutable() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : path.string();
}

}  // namespace weir::tools
