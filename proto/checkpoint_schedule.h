// When checkpoints are due: what checkpoint.every says.
#ifndef WEIR_PROTO_CHECKPOINT_SCHEDULE_H_
#define WEIR_PROTO_CHECKPOINT_SCHEDULE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weir {

// One of the two is above zero.
struct CheckpointSchedule {
  int64_t steps = 0;
  absl::Duration time;
};

// "500": every 500 steps; "5m", "1h30m", "90s": time. INVALID_ARGUMENT says what can be written.
absl::StatusOr<CheckpointSchedule> ParseCheckpointSchedule(const std::string& every);

}  // namespace weir

#endif  // WEIR_PROTO_CHECKPOINT_SCHEDULE_H_
