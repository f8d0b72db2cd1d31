// The folder of a run: runs/<job>.
#ifndef WEIR_TOOLS_LAUNCH_NEW_RUN_FOLDER_H_
#define WEIR_TOOLS_LAUNCH_NEW_RUN_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace weir::tools {

// Makes <output.dir>/<name> with logs/ and the effective configuration in job.yaml, and returns its path. An earlier run of the same name
// is removed; ALREADY_EXISTS when what is there was not made by weir (it has files and no job.yaml). Generated data brings its teacher.json
// along.
absl::StatusOr<std::string> MakeRunFolder(const Job& job);
// The same, but what is there stays, except for job.yaml.
absl::StatusOr<std::string> ReuseRunFolder(const Job& job);
// <output.dir>/<name>.
std::string RunFolderOf(const Job& job);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_NEW_RUN_FOLDER_H_
