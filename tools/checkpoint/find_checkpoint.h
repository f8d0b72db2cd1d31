// From what a person names to a checkpoint.
#ifndef WEIR_TOOLS_CHECKPOINT_FIND_CHECKPOINT_H_
#define WEIR_TOOLS_CHECKPOINT_FIND_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"

namespace weir::tools {

struct Checkpoint {
  std::string folder;
  CheckpointManifest manifest;
};

// `path`: a checkpoint's folder, a folder of checkpoints (the latest is taken), or a run's folder. NOT_FOUND says what was looked for;
// other errors as for ReadManifest.
absl::StatusOr<Checkpoint> FindCheckpoint(const std::string& path);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_CHECKPOINT_FIND_CHECKPOINT_H_
