#include "client/pending_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/key.h"
#include "base/mutex.h"
#include "base/trace.h"
#include "client/retry_policy.h"
#include "client/server_connection.h"
#include "grpcpp/client_context.h"
#include "spdlog/spdlog.h"

namespace weir::client {
namespace {

using Done = std::function<void(grpc::Status)>;

// gRPC itself ends a call at its deadline; this much later something is wrong with the process.
constexpr absl::Duration kDeadlineGrace = absl::Seconds(5);

const char* EdgeOf(const DescribeRequest&) { return "describe"; }
const char* EdgeOf(const LookupRequest&) { return "lookup"; }
const char* EdgeOf(const PushRequest&) { return "push"; }

void Issue(const ServerConnection& to, grpc::ClientContext* context, const DescribeRequest* request, DescribeReply* reply, Done done) {
  to.lookup->async()->Describe(context, request, reply, std::move(done));
}
void Issue(const ServerConnection& to, grpc::ClientContext* context, const LookupRequest* request, LookupReply* reply, Done done) {
  to.lookup->async()->Lookup(context, request, reply, std::move(done));
}
void Issue(const ServerConnection& to, grpc::ClientContext* context, const PushRequest* request, PushReply* reply, Done done) {
  to.push->async()->Push(context, request, reply, std::move(done));
}

}  // namespace

template <typename Request, typename Reply>
struct PendingCalls<Request, Reply>::Call {
  uint32_t server = 0;
  Request request;
  Reply reply;
  std::unique_ptr<grpc::ClientContext> context;  // of the last try
  grpc::Status status;
  uint32_t tries = 0;
  bool repaired = false;
  absl::Time retry_at = absl::InfiniteFuture();
};

template <typename Request, typename Reply>
struct PendingCalls<Request, Reply>::State {
  // A call belongs to gRPC from Send until its index is in `finished`, and to the owner's thread at all other times.
  std::vector<std::unique_ptr<Call>> calls;
  size_t succeeded = 0;

  Mutex mu;
  CondVar changed;
  std::vector<size_t> finished ABSL_GUARDED_BY(mu);
  size_t in_flight ABSL_GUARDED_BY(mu) = 0;
};

template <typename Request, typename Reply>
PendingCalls<Request, Reply>::PendingCalls(const ServerGroup* group)
    : group_(group), deadline_(absl::Now() + group->options().call_timeout), state_(std::make_shared<State>()) {}

template <typename Request, typename Reply>
PendingCalls<Request, Reply>::~PendingCalls() {
  Cancel();
}

template <typename Request, typename Reply>
void PendingCalls<Request, Reply>::Cancel() {
  MutexLock lock(&state_->mu);
  if (state_->in_flight == 0) return;
  for (const std::unique_ptr<Call>& call : state_->calls) {
    if (call->context != nullptr) call->context->TryCancel();
  }
  State* const state = state_.get();
  const bool ended = state->changed.WaitUntil(&state->mu, absl::Now() + kDeadlineGrace, [state]() { return state->in_flight == 0; });
  if (!ended) spdlog::error("{} cancelled calls did not end within {}", state->in_flight, absl::FormatDuration(kDeadlineGrace));
}

template <typename Request, typename Reply>
void PendingCalls<Request, Reply>::Start(uint32_t server, Request request) {
  auto call = std::make_unique<Call>();
  call->server = server;
  call->request = std::move(request);
  state_->calls.push_back(std::move(call));
  Send(state_->calls.size() - 1);
}

template <typename Request, typename Reply>
void PendingCalls<Request, Reply>::Send(size_t index) {
  Call* const call = state_->calls[index].get();
  call->context = std::make_unique<grpc::ClientContext>();
  SetDeadline(call->context.get(), deadline_);
  call->retry_at = absl::InfiniteFuture();
  ++call->tries;
  {
    MutexLock lock(&state_->mu);
    ++state_->in_flight;
  }
  Issue(group_->connection(call->server), call->context.get(), &call->request, &call->reply,
        [state = state_, call, index, sent = absl::Now()](grpc::Status status) {
          const char* const edge = EdgeOf(call->request);
          TraceCall(edge, edge, call->server, sent, absl::Now());
          MutexLock lock(&state->mu);
          call->status = std::move(status);
          state->finished.push_back(index);
          --state->in_flight;
          state->changed.NotifyAll();
        });
}

// What becomes of a call that has ended: success, another try, or an error.
template <typename Request, typename Reply>
absl::Status PendingCalls<Request, Reply>::Settle(size_t index, const Repair& repair) {
  Call* const call = state_->calls[index].get();
  if (call->status.ok()) {
    ++state_->succeeded;
    return absl::OkStatus();
  }
  absl::Status failure = FromGrpc(call->status, group_->connection(call->server).name);
  if (absl::IsUnavailable(failure) && call->tries < kCallTriesMax) {
    const ClientOptions& options = group_->options();
    const uint64_t stream = Mix64(Mix64(options.incarnation, options.worker_rank), call->server);
    const absl::Time retry_at = absl::Now() + RetryDelay(call->tries, KeyedUniform(stream, call->tries));
    if (retry_at < deadline_) {
      call->retry_at = retry_at;
      return absl::OkStatus();
    }
  }
  if (repair != nullptr && !call->repaired) {
    call->repaired = true;
    if (repair(index, failure, &call->request)) {
      Send(index);
      return absl::OkStatus();
    }
  }
  if (call->tries == 1) return failure;
  return absl::Status(failure.code(), absl::StrCat(failure.message(), " (try ", call->tries, ")"));
}

template <typename Request, typename Reply>
absl::Status PendingCalls<Request, Reply>::SendDueRetries(absl::Time* next) {
  const absl::Time now = absl::Now();
  *next = deadline_ + kDeadlineGrace;
  if (now > *next) return absl::DeadlineExceededError("calls did not end at their deadline");
  for (size_t i = 0; i < state_->calls.size(); ++i) {
    if (state_->calls[i]->retry_at <= now) Send(i);
    *next = std::min(*next, state_->calls[i]->retry_at);
  }
  return absl::OkStatus();
}

template <typename Request, typename Reply>
absl::Status PendingCalls<Request, Reply>::Wait(const Repair& repair) {
  State* const state = state_.get();
  std::vector<size_t> finished;
  absl::Status status;
  while (status.ok() && state->succeeded < state->calls.size()) {
    absl::Time next;
    status = SendDueRetries(&next);
    if (!status.ok()) break;
    finished.clear();
    {
      MutexLock lock(&state->mu);
      state->changed.WaitUntil(&state->mu, next, [state]() { return !state->finished.empty(); });
      finished.swap(state->finished);
    }
    for (size_t i = 0; i < finished.size() && status.ok(); ++i) status = Settle(finished[i], repair);
  }
  if (!status.ok()) Cancel();
  return status;
}

template <typename Request, typename Reply>
bool PendingCalls<Request, Reply>::ready() const {
  MutexLock lock(&state_->mu);
  return state_->in_flight == 0;
}

template <typename Request, typename Reply>
size_t PendingCalls<Request, Reply>::size() const {
  return state_->calls.size();
}

template <typename Request, typename Reply>
const Reply& PendingCalls<Request, Reply>::reply(size_t call) const {
  return state_->calls[call]->reply;
}

template class PendingCalls<DescribeRequest, DescribeReply>;
template class PendingCalls<LookupRequest, LookupReply>;
template class PendingCalls<PushRequest, PushReply>;

}  // namespace weir::client
