#include "server/coordinator/barriers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir::server {

absl::Status Barriers::Refusal(const BarrierRequest& request) const {
  if (request.name().empty() || request.name().size() > kBarrierNameBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a barrier's name has 1 to ", kBarrierNameBytesMax, " bytes, this one has ", request.name().size()));
  }
  if (waiting_ >= kWaitingCallsMax) return absl::ResourceExhaustedError("too many calls wait at barriers");
  if (barriers_.size() >= kBarriersMax && !barriers_.contains(request.name())) {
    return absl::ResourceExhaustedError(absl::StrCat("a job has at most ", kBarriersMax, " barriers"));
  }
  return absl::OkStatus();
}

void Barriers::Arrive(const BarrierRequest& request, WaitingCall call, Answers* answers) {
  if (absl::Status refusal = Refusal(request); !refusal.ok()) {
    answers->Add(std::move(call), std::move(refusal));
    return;
  }
  const auto [found, added] = barriers_.try_emplace(request.name());
  Barrier& barrier = found->second;
  if (added) {
    barrier.arrived.resize(workers_);
    barrier.missing = workers_;
  }
  if (!barrier.arrived[request.worker_rank()]) {
    barrier.arrived[request.worker_rank()] = true;
    --barrier.missing;
  }
  barrier.waiting.push_back(std::move(call));
  ++waiting_;
  if (barrier.missing > 0) return;
  waiting_ -= barrier.waiting.size();
  for (WaitingCall& waiting : barrier.waiting) answers->Add(std::move(waiting), absl::OkStatus());
  barrier.waiting.clear();
}

void Barriers::Expire(absl::Time now, Answers* answers) {
  if (waiting_ == 0) return;
  for (auto& [name, barrier] : barriers_) {
    const auto expired = [&, &name = name, &barrier = barrier](WaitingCall& call) {
      if (call.deadline > now) return false;
      std::vector<uint32_t> missing;
      for (uint32_t rank = 0; rank < workers_; ++rank) {
        if (!barrier.arrived[rank]) missing.push_back(rank);
      }
      answers->Add(std::move(call),
                   absl::DeadlineExceededError(absl::StrCat("barrier '", name, "' waits for worker ", absl::StrJoin(missing, ", "))));
      --waiting_;
      return true;
    };
    barrier.waiting.erase(std::remove_if(barrier.waiting.begin(), barrier.waiting.end(), expired), barrier.waiting.end());
  }
}

void Barriers::FailAll(const absl::Status& status, Answers* answers) {
  for (auto& [name, barrier] : barriers_) {
    for (WaitingCall& call : barrier.waiting) answers->Add(std::move(call), status);
    barrier.waiting.clear();
  }
  waiting_ = 0;
}

}  // namespace weir::server
