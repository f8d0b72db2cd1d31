// Lookups that wait for a step, parked as callbacks: no thread waits with them.
#ifndef WEIR_SERVER_TABLE_LOOKUP_GATE_H_
#define WEIR_SERVER_TABLE_LOOKUP_GATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace weir::server {

// Called once, with OK when the step was reached.
using Resume = std::function<void(absl::Status)>;

// A parked lookup. `owner` names it while it waits.
struct Waiter {
  const void* owner = nullptr;
  int64_t step = 0;  // waits until all pushes of this step are applied
  absl::Time deadline = absl::InfiniteFuture();
  Resume resume;
};

// Runs no callback itself: what leaves the gate is handed back, so that its user can call it without a lock. Not thread-safe.
class LookupGate {
 public:
  explicit LookupGate(size_t waiters_max) : waiters_max_(waiters_max) {}

  // RESOURCE_EXHAUSTED, and the waiter is left as it was: `waiters_max` are parked already. REQUIRES: the owner is not parked.
  absl::Status Park(Waiter&& waiter);

  // Takes out those that wait for this step or an earlier one, in step order.
  std::vector<Waiter> Reach(int64_t step);
  // Takes out those whose deadline is at or before `now`.
  std::vector<Waiter> Expire(absl::Time now);
  // Takes out the owner's, if it is still there.
  std::optional<Waiter> Take(const void* owner);
  std::vector<Waiter> TakeAll();

  // Earliest deadline; infinite future when nothing is parked.
  absl::Time NextDeadline() const;

 private:
  template <typename Leaves>
  std::vector<Waiter> TakeIf(Leaves leaves);

  const size_t waiters_max_;
  absl::flat_hash_map<const void*, Waiter> waiters_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_LOOKUP_GATE_H_
