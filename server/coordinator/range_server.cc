#include "server/coordinator/range_server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace weir::server {

RangeServer::RangeServer(RangePlanner* planner, std::function<void(const absl::Status&)> failed)
    : planner_(planner), failed_(std::move(failed)), planning_([this] { PlanLoop(); }), counting_([this] { CountLoop(); }) {}

RangeServer::~RangeServer() {
  {
    MutexLock lock(&mu_);
    ending_ = true;
    changed_.NotifyAll();
  }
  planning_.join();
  counting_.join();
}

void RangeServer::Next(const NextRangeRequest& request, NextRangeReply* reply, std::function<void(const absl::Status&)> finish) {
  absl::Status refusal;
  {
    MutexLock lock(&mu_);
    if (ending_) {
      refusal = absl::CancelledError("the coordinator is going down");
    } else if (waiting_.size() >= kRangeRequestsMax) {
      refusal = absl::ResourceExhaustedError(absl::StrCat(kRangeRequestsMax, " requests for ranges wait already"));
    } else {
      waiting_.push_back({request, reply, std::move(finish)});
      changed_.NotifyAll();
      return;
    }
  }
  finish(refusal);
}

void RangeServer::PlanLoop() {
  while (true) {
    Waiting next;
    bool ending = false;
    {
      MutexLock lock(&mu_);
      const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ending_ || !waiting_.empty(); };
      if (!changed_.WaitUntil(&mu_, absl::InfiniteFuture(), ready)) continue;
      if (waiting_.empty()) return;
      ending = ending_;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next.finish(ending ? absl::CancelledError("the coordinator is going down") : Plan(next));
  }
}

absl::Status RangeServer::Plan(const Waiting& waiting) {
  absl::StatusOr<NextRangeReply> reply = planner_->Next(waiting.request);
  if (reply.ok()) {
    *waiting.reply = *std::move(reply);
    return absl::OkStatus();
  }
  // A wrong or early request is the worker's own fault; everything else is the data's.
  if (!absl::IsInvalidArgument(reply.status()) && !absl::IsResourceExhausted(reply.status())) failed_(reply.status());
  return reply.status();
}

void RangeServer::CountLoop() {
  while (true) {
    {
      MutexLock lock(&mu_);
      if (ending_) return;
    }
    const absl::StatusOr<bool> counted = planner_->CountMore();
    if (!counted.ok()) failed_(counted.status());
    if (!counted.ok() || *counted) return;
  }
}

}  // namespace weir::server
