// Scalars in TensorBoard's event files: TFRecord framing (length, masked CRC-32C of it, an Event, masked CRC-32C of that).
#ifndef WEIR_SERVER_COORDINATOR_TENSORBOARD_WRITER_H_
#define WEIR_SERVER_COORDINATOR_TENSORBOARD_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/output_file.h"

namespace weir::tensorboard {
class Event;
}

namespace weir::server {

// Single-threaded.
class TensorBoardWriter {
 public:
  enum class Earlier {
    kRemove,
    kKeep,  // the run goes on
  };
  // Starts an event file in `dir`, and makes the folder. Event files of an earlier run are removed: a folder shows one run.
  static absl::StatusOr<std::unique_ptr<TensorBoardWriter>> Create(const std::string& dir, absl::Time now,
                                                                   Earlier earlier = Earlier::kRemove);

  // One point of each named curve at `step`.
  absl::Status Write(int64_t step, absl::Time now, const std::vector<std::pair<std::string, double>>& scalars);

  // The event as a record of the file.
  static std::string Frame(const std::string& event);

 private:
  explicit TensorBoardWriter(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  absl::Status WriteEvent(const tensorboard::Event& event);

  const std::unique_ptr<OutputFile> file_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_TENSORBOARD_WRITER_H_
