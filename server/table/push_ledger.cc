#include "server/table/push_ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace weir::server {

namespace {

template <typename Incarnations>
auto Find(Incarnations& incarnations, uint64_t incarnation) {
  return std::find_if(incarnations.begin(), incarnations.end(), [&](const auto& known) { return known.incarnation == incarnation; });
}

}  // namespace

PushLedger::Incarnation& PushLedger::FindOrAdd(const PartId& id) {
  std::deque<Incarnation>& incarnations = workers_[id.worker_rank];
  const auto known = Find(incarnations, id.incarnation);
  if (known != incarnations.end()) return *known;
  if (incarnations.size() == kIncarnationsMax) incarnations.pop_front();
  incarnations.emplace_back();
  incarnations.back().incarnation = id.incarnation;
  return incarnations.back();
}

bool PushLedger::Seen(const PartId& id) const {
  const auto incarnation = Find(workers_[id.worker_rank], id.incarnation);
  if (incarnation == workers_[id.worker_rank].end()) return false;
  if (id.step >= incarnation->complete_first && id.step < incarnation->complete_end) return true;
  const auto step = incarnation->steps.find(id.step);
  return step != incarnation->steps.end() && id.part < step->second.seen.size() && step->second.seen[id.part];
}

absl::StatusOr<PushReply::Outcome> PushLedger::Record(const PartId& id, uint32_t parts) {
  if (Seen(id)) return PushReply::OUTCOME_DUPLICATE;
  Incarnation& incarnation = FindOrAdd(id);
  auto it = incarnation.steps.find(id.step);
  if (it == incarnation.steps.end()) {
    const bool full = incarnation.steps.size() == kStepsAheadMax;
    if (full && id.step < incarnation.steps.begin()->first) {
      return absl::FailedPreconditionError(absl::StrCat("push of ", ToString(id), " is older than the ", kStepsAheadMax,
                                                        " newest steps of that worker (from step ", incarnation.steps.begin()->first,
                                                        "): whether it was applied is not known any more"));
    }
    it = incarnation.steps.emplace(id.step, Step{std::vector<bool>(parts, false), parts}).first;
    if (full) Forget(&incarnation);
  }
  Step& step = it->second;
  if (step.seen.size() != parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("push of ", ToString(id), " says ", parts, " parts, an earlier one of this step said ", step.seen.size()));
  }
  step.seen[id.part] = true;
  --step.missing;
  return PushReply::OUTCOME_ACCEPTED;
}

void PushLedger::Forget(Incarnation* incarnation) {
  const auto oldest = incarnation->steps.begin();
  if (oldest->second.missing == 0) {
    if (oldest->first != incarnation->complete_end) incarnation->complete_first = oldest->first;
    incarnation->complete_end = oldest->first + 1;
  }
  incarnation->steps.erase(oldest);
}

}  // namespace weir::server
