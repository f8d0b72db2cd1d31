#include "tools/checkpoint/find_checkpoint.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/checkpoint_folder.h"

namespace weir::tools {

absl::StatusOr<Checkpoint> FindCheckpoint(const std::string& path) {
  Checkpoint checkpoint;
  if (access(absl::StrCat(path, "/manifest.json").c_str(), F_OK) == 0) {
    checkpoint.folder = path;
  } else {
    absl::StatusOr<std::string> latest = LatestCheckpoint(path);
    if (!latest.ok()) latest = LatestCheckpoint(path + "/checkpoints");
    if (!latest.ok()) {
      return absl::NotFoundError(
          absl::StrCat(path, " is neither a checkpoint (it has no manifest.json) nor a folder or run that has one (step-N)"));
    }
    checkpoint.folder = *latest;
  }
  WEIR_ASSIGN_OR_RETURN(checkpoint.manifest, ReadManifest(checkpoint.folder));
  return checkpoint;
}

}  // namespace weir::tools
