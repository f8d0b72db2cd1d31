// Calls that are answered later: parked in a ValueStore or Barriers, answered by an event or by their deadline. No thread waits for them.
#ifndef WEIR_SERVER_COORDINATOR_WAITING_CALL_H_
#define WEIR_SERVER_COORDINATOR_WAITING_CALL_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace weir::server {

struct WaitingCall {
  absl::Time deadline;                              // when it is answered DEADLINE_EXCEEDED, a little before its caller gives up
  std::function<void(const absl::Status&)> finish;  // called exactly once, with no lock held
};

// Answers that were decided under a lock, to be sent without it. Single-threaded.
class Answers {
 public:
  void Add(WaitingCall call, absl::Status status) { answers_.emplace_back(std::move(call), std::move(status)); }
  void Send() {
    for (const auto& [call, status] : answers_) call.finish(status);
    answers_.clear();
  }

 private:
  std::vector<std::pair<WaitingCall, absl::Status>> answers_;
};

// Of each of ValueStore and Barriers. Past it: RESOURCE_EXHAUSTED.
inline constexpr size_t kWaitingCallsMax = 8192;

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_WAITING_CALL_H_
