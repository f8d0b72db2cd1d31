#include "server/coordinator/server_calls.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/status_macros.h"

namespace weir::server {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(100);

absl::Status CallOne(const std::string& address, size_t server, const ServerCallOptions& options, const ServerCall& call) {
  const std::shared_ptr<grpc::Channel> channel = OpenChannel(address, Edge::kNotCounted);
  const absl::Time deadline = absl::Now() + options.timeout;
  while (true) {
    grpc::ClientContext context;
    SetDeadline(&context, deadline);
    const grpc::Status status = call(channel, &context, server);
    if (status.ok()) return absl::OkStatus();
    const bool gone = status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (!gone || absl::Now() + kRetryPause >= deadline || options.stops_within(kRetryPause)) {
      return FromGrpc(status, absl::StrCat("server ", server, " at ", address));
    }
  }
}

}  // namespace

absl::Status CallServers(const std::vector<std::string>& addresses, const ServerCallOptions& options, const ServerCall& call) {
  std::vector<absl::Status> statuses(addresses.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < addresses.size(); ++i) {
    threads.emplace_back([&, i] { statuses[i] = CallOne(addresses[i], i, options, call); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) WEIR_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace weir::server
