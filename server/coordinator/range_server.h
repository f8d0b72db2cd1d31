// Answers NextRange on a thread of its own, because planning a range may read files. A second thread counts the rows of the data ahead of
// time.
#ifndef WEIR_SERVER_COORDINATOR_RANGE_SERVER_H_
#define WEIR_SERVER_COORDINATOR_RANGE_SERVER_H_

#include <deque>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "base/limits.h"
#include "base/mutex.h"
#include "proto/control_service.pb.h"
#include "server/coordinator/range_planner.h"

namespace weir::server {

// Requests that wait for the thread. A worker has two at most, one for each set.
inline constexpr size_t kRangeRequestsMax = 2 * size_t{kWorkersMax};

// Thread-safe.
class RangeServer {
 public:
  // `planner` outlives the object. `failed` is called, on the object's threads, with an error that the job cannot survive (damaged data).
  RangeServer(RangePlanner* planner, std::function<void(const absl::Status&)> failed);
  // Answers what waits with CANCELLED, after the range and the count under way.
  ~RangeServer();

  // Fills `reply` and calls `finish` once, on the object's thread or (RESOURCE_EXHAUSTED, CANCELLED) on the caller's.
  void Next(const NextRangeRequest& request, NextRangeReply* reply, std::function<void(const absl::Status&)> finish);

 private:
  struct Waiting {
    NextRangeRequest request;
    NextRangeReply* reply;
    std::function<void(const absl::Status&)> finish;
  };
  void PlanLoop();
  void CountLoop();
  absl::Status Plan(const Waiting& waiting);

  RangePlanner* const planner_;
  const std::function<void(const absl::Status&)> failed_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread planning_;
  std::thread counting_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_RANGE_SERVER_H_
