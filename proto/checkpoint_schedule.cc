#include "proto/checkpoint_schedule.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weir {

absl::StatusOr<CheckpointSchedule> ParseCheckpointSchedule(const std::string& every) {
  CheckpointSchedule schedule;
  int64_t steps = 0;
  if (absl::SimpleAtoi(every, &steps)) {
    schedule.steps = steps;
    if (steps > 0) return schedule;
  } else if (absl::ParseDuration(every, &schedule.time)) {
    if (schedule.time >= absl::Seconds(1) && schedule.time < absl::InfiniteDuration()) return schedule;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", every, "' is neither a number of steps (500) nor a time of at least a second (90s, 5m, 1h30m)"));
}

}  // namespace weir
