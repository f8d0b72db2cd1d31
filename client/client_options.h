// How a client reaches its servers, and what it learns from them.
#ifndef WEIR_CLIENT_CLIENT_OPTIONS_H_
#define WEIR_CLIENT_CLIENT_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/limits.h"

namespace weir::client {

struct ClientOptions {
  std::vector<std::string> servers;  // host:port in server index order
  uint64_t job_hash = 0;             // 0: take the servers' own (external clients)
  uint32_t worker_rank = 0;
  uint64_t incarnation = 0;                         // 0: random
  absl::Duration call_timeout = absl::Seconds(30);  // of one call, its retries included
  size_t call_bytes_target = kCallBytesTarget;      // a call's payload stays below it
};

struct TableInfo {
  std::string name;
  uint32_t dim = 0;
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_CLIENT_OPTIONS_H_
