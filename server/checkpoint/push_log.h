// The pushes that a server has accepted since its last checkpoint, so that it comes back with them when it is killed.
//
// A folder has the logs of all servers, one file for each stretch between two checkpoints: server-<index>-<first step>.log. A file is a
// sequence of records: u32 bytes of the payload, u64 XXH3 of it, the payload; little-endian. A payload is one PushPart: rows that are
// exactly zero are not in it, and of the others' entries only those that are not zero, under a bit mask: gradients that were thresholded
// stay small. What the process wrote survives its death; a machine that dies can take the last records along.
#ifndef WEIR_SERVER_CHECKPOINT_PUSH_LOG_H_
#define WEIR_SERVER_CHECKPOINT_PUSH_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "base/output_file.h"
#include "server/table/push_part.h"
#include "server/table/push_recorder.h"
#include "server/table/table_registry.h"

namespace weir::server {

// Payloads as above. ParsePush: DATA_LOSS, when the bytes are none; tables that do not exist included.
std::string SerializePush(const PushPart& part);
absl::StatusOr<PushPart> ParsePush(absl::string_view payload, const TableRegistry& tables);

// Thread-safe.
class PushLog final : public PushRecorder {
 public:
  // The log of server `index` in `folder`, which is made where it is missing. Nothing is read or removed.
  static absl::StatusOr<std::unique_ptr<PushLog>> Open(const std::string& folder, uint32_t index);

  // Removes all files of this server, and starts the one whose first step is `step`.
  absl::Status Begin(int64_t step);
  // A checkpoint before `step` begins: goes on in a new file. Files whose pushes are all in the checkpoint before `last_whole` are removed.
  absl::Status Rotate(int64_t step, int64_t last_whole);
  // Gives `accept` every record of the files whose first step is at least `step`, in order; then goes on behind the last one. What a write
  // that was cut off has left at the end of the last file is removed. DATA_LOSS, naming file and byte: anything else that is damaged.
  absl::Status Replay(int64_t step, const TableRegistry& tables, const std::function<absl::Status(PushPart)>& accept);

  std::string Prepare(const PushPart& part) const override { return SerializePush(part); }
  // Returns once the record is written: the kernel has it. REQUIRES: Begin or Replay. Errors (disk full) name the path; the record may be
  // cut off then, and no later one is written.
  absl::Status Record(const std::string& payload) override;

 private:
  PushLog(std::string folder, uint32_t index) : folder_(std::move(folder)), index_(index) {}

  std::string PathOf(int64_t step) const;
  // First steps of this server's files, increasing.
  std::vector<int64_t> Files() const;
  absl::Status ReplayFile(const std::string& path, bool last, const TableRegistry& tables,
                          const std::function<absl::Status(PushPart)>& accept);

  const std::string folder_;
  const uint32_t index_;
  Mutex mu_;
  std::unique_ptr<OutputFile> file_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);  // of the first write that failed
};

}  // namespace weir::server

#endif  // WEIR_SERVER_CHECKPOINT_PUSH_LOG_H_
