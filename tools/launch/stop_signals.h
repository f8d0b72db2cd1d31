// SIGINT, SIGTERM and SIGHUP as events instead of handlers, so that the launcher stops its processes in order.
#ifndef WEIR_TOOLS_LAUNCH_STOP_SIGNALS_H_
#define WEIR_TOOLS_LAUNCH_STOP_SIGNALS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weir::tools {

// Single-threaded. One at a time in a process.
class StopSignals {
 public:
  // Blocks the signals in this thread, and in those that it starts later: make it before any other thread.
  static absl::StatusOr<std::unique_ptr<StopSignals>> Create();
  // The signals act again as before.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits until a stop signal comes, a child process changes its state, or the time is over. Returns whether a stop signal came during
  // this call.
  bool Wait(absl::Duration timeout);

  // The first stop signal; 0: none yet.
  int stopped_by() const { return stopped_by_; }

 private:
  explicit StopSignals(int fd) : fd_(fd) {}

  const int fd_;
  int stopped_by_ = 0;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_STOP_SIGNALS_H_
