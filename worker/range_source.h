// Where a reader learns which rows to read next.
#ifndef WEIR_WORKER_RANGE_SOURCE_H_
#define WEIR_WORKER_RANGE_SOURCE_H_

#include "absl/status/statusor.h"
#include "proto/control_service.pb.h"

namespace weir::worker {

// One set of one worker. Used by one thread, the reader's.
class RangeSource {
 public:
  virtual ~RangeSource() = default;
  // The next rows to read; `done` at the end, and from then on. May wait for the coordinator, up to its deadline.
  virtual absl::StatusOr<NextRangeReply> Next() = 0;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_RANGE_SOURCE_H_
