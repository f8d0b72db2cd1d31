#include "tools/launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir::tools {
namespace {

// What the child needs, made before the fork: after it only async-signal-safe calls are allowed.
struct ChildPlan {
  std::vector<char*> argv;  // null-terminated
  int log_fd = -1;
  int null_fd = -1;
  int error_fd = -1;  // takes errno when the binary cannot be run; closes itself when it runs
  pid_t parent = 0;
};

// Runs in the child; never returns.
void BecomeBinary(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the launcher died before prctl could tell the kernel
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  dup2(plan.null_fd, STDIN_FILENO);
  dup2(plan.log_fd, STDOUT_FILENO);
  dup2(plan.log_fd, STDERR_FILENO);
  execv(plan.argv[0], plan.argv.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(plan.error_fd, &error, sizeof(error));
  _exit(127);
}

// errno of the child's exec; 0 when the binary runs.
int ExecError(int fd) {
  int error = 0;
  ssize_t got;
  do {
    got = read(fd, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(error) ? error : 0;
}

absl::Status StartError(const ProcessSpec& spec, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat(spec.name, ": cannot run ", spec.argv[0]));
}

}  // namespace

std::string ProcessEnd::Text() const {
  if (signal != 0) return absl::StrCat("was killed by signal ", signal, " (", strsignal(signal), ")");
  return absl::StrCat("exited with code ", exit_code);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ProcessSpec& spec) {
  ChildPlan plan;
  for (const std::string& word : spec.argv) plan.argv.push_back(const_cast<char*>(word.c_str()));
  plan.argv.push_back(nullptr);
  plan.parent = getpid();
  plan.log_fd = open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (plan.log_fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(spec.name, ": cannot write its log ", spec.log_path));
  plan.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int ends[2] = {-1, -1};
  const bool piped = plan.null_fd >= 0 && pipe2(ends, O_CLOEXEC) == 0;
  plan.error_fd = ends[1];

  const pid_t pid = piped ? fork() : -1;
  int error = pid < 0 ? errno : 0;
  if (pid == 0) BecomeBinary(plan);
  for (const int fd : {plan.log_fd, plan.null_fd, ends[1]}) close(fd);
  if (pid > 0) error = ExecError(ends[0]);
  close(ends[0]);
  if (error == 0) return std::unique_ptr<ChildProcess>(new ChildProcess(spec, pid));
  if (pid > 0) waitpid(pid, nullptr, 0);  // it has called _exit
  return StartError(spec, error);
}

ChildProcess::~ChildProcess() {
  if (Poll().has_value()) return;
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<ProcessEnd> ChildProcess::Poll() {
  if (end_.has_value()) return end_;
  // First look, then reap: as long as the leader is not reaped, its number names this group and no other.
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return std::nullopt;
  kill(-pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  end_.emplace();
  if (WIFSIGNALED(status)) {
    end_->signal = WTERMSIG(status);
  } else {
    end_->exit_code = WEXITSTATUS(status);
  }
  return end_;
}

void ChildProcess::Signal(int signal) {
  if (end_.has_value()) return;
  // The group exists once the child has called setpgid, which Start has waited for.
  kill(-pid_, signal);
}

std::string LastLines(const std::string& path, int lines) {
  constexpr std::streamoff kTailBytesMax = 64 << 10;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  const std::streamoff start = std::max<std::streamoff>(0, size - kTailBytesMax);
  file.seekg(start);
  std::string text(static_cast<size_t>(size - start), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  size_t cut = text.size();
  for (int i = 0; i < lines && cut != std::string::npos; ++i) cut = cut == 0 ? std::string::npos : text.rfind('\n', cut - 1);
  return cut == std::string::npos ? text : text.substr(cut + 1);
}

}  // namespace weir::tools
