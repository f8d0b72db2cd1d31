// Calls under way: started one by one, waited for together, with retries inside one deadline.
#ifndef WEIR_CLIENT_PENDING_CALLS_H_
#define WEIR_CLIENT_PENDING_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/server_group.h"
#include "proto/data_service.pb.h"

namespace weir::client {

// The asynchronous calls of one lookup or push: Request is DescribeRequest, LookupRequest or PushRequest. One thread at a time; the group
// outlives it. All calls share the deadline, which is the group's call_timeout after construction.
template <typename Request, typename Reply>
class PendingCalls {
 public:
  // Asked in Wait about a call that failed for good, once for each call: may change its request and return true to have it sent again.
  using Repair = std::function<bool(size_t call, const absl::Status& failure, Request* request)>;

  explicit PendingCalls(const ServerGroup* group);
  // Cancels what is under way.
  ~PendingCalls();
  PendingCalls(const PendingCalls&) = delete;
  PendingCalls& operator=(const PendingCalls&) = delete;

  // Sends a request and returns at once. Calls are numbered from 0 in the order of Start.
  void Start(uint32_t server, Request request);

  // Until every call has its reply. A call whose server is UNAVAILABLE is sent again after RetryDelay, at most kCallTriesMax times in all,
  // from here: nothing is retried before Wait. On an error that stays, names the server, cancels the other calls and returns it.
  absl::Status Wait(const Repair& repair = nullptr);
  // Whether every call has ended, well or not: then Wait does not wait, unless it retries.
  bool ready() const;

  size_t size() const;
  // After a successful Wait. REQUIRES: call < size().
  const Reply& reply(size_t call) const;

 private:
  struct Call;
  struct State;

  void Send(size_t index);
  absl::Status Settle(size_t index, const Repair& repair);
  absl::Status SendDueRetries(absl::Time* next);
  void Cancel();

  const ServerGroup* const group_;
  const absl::Time deadline_;
  const std::shared_ptr<State> state_;  // shared with the callbacks under way
};

using DescribeCalls = PendingCalls<DescribeRequest, DescribeReply>;
using LookupCalls = PendingCalls<LookupRequest, LookupReply>;
using PushCalls = PendingCalls<PushRequest, PushReply>;

}  // namespace weir::client

#endif  // WEIR_CLIENT_PENDING_CALLS_H_
