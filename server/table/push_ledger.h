// Exactly once without steps to wait for (unbounded staleness): which parts of a worker's pushes have been applied.
#ifndef WEIR_SERVER_TABLE_PUSH_LEDGER_H_
#define WEIR_SERVER_TABLE_PUSH_LEDGER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/data_service.pb.h"
#include "server/table/push_part.h"

namespace weir::server {

// Remembers for each of the last kIncarnationsMax incarnations of a rank its newest kStepsAheadMax steps part by part, and a run of
// complete steps before them as two numbers. What is older is refused, because a repeat could not be told from a late first. Not
// thread-safe.
class PushLedger {
 public:
  static constexpr size_t kIncarnationsMax = 16;

  explicit PushLedger(uint32_t workers) : workers_(workers) {}

  // True when the part has been recorded.
  bool Seen(const PartId& id) const;
  // Records the part. OUTCOME_DUPLICATE: it was. FAILED_PRECONDITION: too old to be told. INVALID_ARGUMENT: another number of parts than
  // the step's first part said. REQUIRES: rank, step and part in range.
  absl::StatusOr<PushReply::Outcome> Record(const PartId& id, uint32_t parts);

 private:
  struct Step {
    std::vector<bool> seen;  // by part
    uint32_t missing = 0;
  };
  struct Incarnation {
    uint64_t incarnation = 0;
    std::map<int64_t, Step> steps;  // the newest
    int64_t complete_first = 0;     // steps [complete_first, complete_end) are complete and left `steps`
    int64_t complete_end = 0;
  };

  Incarnation& FindOrAdd(const PartId& id);
  static void Forget(Incarnation* incarnation);

  std::vector<std::deque<Incarnation>> workers_;  // by rank; incarnations in order of arrival
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_PUSH_LEDGER_H_
