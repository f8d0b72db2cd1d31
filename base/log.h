// Process start-up that every binary shares: spdlog set up with the process's name, allocator kept, SIGPIPE ignored.
//
// Log with spdlog's own functions (spdlog::info("... {}", x)); a line goes to standard error.
#ifndef WEIR_BASE_LOG_H_
#define WEIR_BASE_LOG_H_

#include <string>

#include "spdlog/spdlog.h"

namespace weir {

// Call first in main. `process` is what people call it: "server 1". Also keeps glibc's heap: by default it gives large blocks back to the
// kernel and faults them in again on every call, which costs gRPC up to 30x of its throughput (DECISIONS.md). A connection whose other side
// is gone is an error of the call that writes to it, never the end of the process: SIGPIPE is ignored.
void StartProcess(const std::string& process);

// Renames the process once it knows its index.
void NameProcess(const std::string& process);

}  // namespace weir

#endif  // WEIR_BASE_LOG_H_
