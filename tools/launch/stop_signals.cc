#include "tools/launch/stop_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"

namespace weir::tools {
namespace {

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StopSignals>> StopSignals::Create() {
  const sigset_t set = WatchedSignals();
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr)) return absl::ErrnoToStatus(error, "cannot block signals");
  const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot watch signals");
  return std::unique_ptr<StopSignals>(new StopSignals(fd));
}

StopSignals::~StopSignals() {
  close(fd_);
  const sigset_t set = WatchedSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool StopSignals::Wait(absl::Duration timeout) {
  pollfd watched = {fd_, POLLIN, 0};
  poll(&watched, 1, static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(timeout))));
  bool stop = false;
  signalfd_siginfo info;
  while (read(fd_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    stop = true;
    if (stopped_by_ == 0) stopped_by_ = static_cast<int>(info.ssi_signo);
  }
  return stop;
}

}  // namespace weir::tools
