// The folders of a job's checkpoints, and their manifests. docs/checkpoints.md
//
//   <dir>/step-500/            a checkpoint: manifest.json, server-0.state, ..., worker-0.state, ...
//   <dir>/step-600.unfinished/ is being written, or was when a process died; never read
//   <dir>/latest               names the newest checkpoint
#ifndef WEIR_PROTO_CHECKPOINT_FOLDER_H_
#define WEIR_PROTO_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"

namespace weir {

inline constexpr uint32_t kCheckpointFormatVersion = 1;
inline constexpr size_t kManifestBytesMax = size_t{256} << 20;

// Where the parts of the checkpoint before `step` are written.
std::string UnfinishedCheckpoint(absl::string_view dir, int64_t step);
std::string ServerFileName(uint32_t index);
std::string WorkerFileName(uint32_t rank);

// Makes the unfinished folder where it is missing: whoever writes into it calls it first.
absl::Status BeginCheckpoint(const std::string& dir, int64_t step);
// Removes what earlier lives of the job have left unfinished. Before anybody begins.
void RemoveUnfinishedCheckpoints(const std::string& dir);
// Writes the manifest into the unfinished folder, gives it its name, and lets `latest` name it: each whole or not at all. Then all but the
// `keep` newest checkpoints up to this step go, and earlier ones that were left unfinished; later steps, which a job that went back has
// given up, stay until it comes by again. Errors name the path; what was there before stays.
absl::Status FinishCheckpoint(const std::string& dir, const CheckpointManifest& manifest, uint32_t keep);

// Steps of the checkpoints of a folder, increasing; empty when there is none.
std::vector<int64_t> CheckpointSteps(const std::string& dir);
// The folder that `latest` names; without it, the newest one. NOT_FOUND: there is no checkpoint in `dir`.
absl::StatusOr<std::string> LatestCheckpoint(const std::string& dir);
// Reads and checks the manifest of a checkpoint's folder: version, and that every file is there with its size. NOT_FOUND, DATA_LOSS or
// FAILED_PRECONDITION (another version) name path and field.
absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& folder);
// Whether a job may go on from a checkpoint: all that decides what is learned, and from what, is the same. FAILED_PRECONDITION names what
// is not.
absl::Status CheckResumable(const CheckpointManifest& manifest, const Job& job);

// Where a job's checkpoints are, given its run folder.
std::string CheckpointDir(const Job& job, absl::string_view run_dir);

}  // namespace weir

#endif  // WEIR_PROTO_CHECKPOINT_FOLDER_H_
