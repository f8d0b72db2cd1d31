#include "server/table/lookup_gate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::server {

absl::Status LookupGate::Park(Waiter&& waiter) {
  if (waiters_.size() >= waiters_max_) {
    return absl::ResourceExhaustedError(absl::StrCat(waiters_.size(), " lookups wait for their step already, and no more may"));
  }
  const void* const owner = waiter.owner;
  waiters_.emplace(owner, std::move(waiter));
  return absl::OkStatus();
}

template <typename Leaves>
std::vector<Waiter> LookupGate::TakeIf(Leaves leaves) {
  std::vector<Waiter> taken;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    const auto here = it++;
    if (!leaves(here->second)) continue;
    taken.push_back(std::move(here->second));
    waiters_.erase(here);
  }
  return taken;
}

std::vector<Waiter> LookupGate::Reach(int64_t step) {
  std::vector<Waiter> reached = TakeIf([step](const Waiter& waiter) { return waiter.step <= step; });
  std::stable_sort(reached.begin(), reached.end(), [](const Waiter& a, const Waiter& b) { return a.step < b.step; });
  return reached;
}

std::vector<Waiter> LookupGate::Expire(absl::Time now) {
  return TakeIf([now](const Waiter& waiter) { return waiter.deadline <= now; });
}

std::optional<Waiter> LookupGate::Take(const void* owner) {
  const auto it = waiters_.find(owner);
  if (it == waiters_.end()) return std::nullopt;
  Waiter waiter = std::move(it->second);
  waiters_.erase(it);
  return waiter;
}

std::vector<Waiter> LookupGate::TakeAll() {
  return TakeIf([](const Waiter&) { return true; });
}

absl::Time LookupGate::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [owner, waiter] : waiters_) next = std::min(next, waiter.deadline);
  return next;
}

}  // namespace weir::server
