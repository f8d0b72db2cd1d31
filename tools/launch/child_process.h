// A process that the launcher started and answers for.
#ifndef WEIR_TOOLS_LAUNCH_CHILD_PROCESS_H_
#define WEIR_TOOLS_LAUNCH_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::tools {

struct ProcessSpec {
  std::string name;               // what people call it: "worker 1"
  std::vector<std::string> argv;  // argv[0] is the binary's path
  std::string log_path;           // gets standard output and error; replaced
};

// How a process ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // that killed it; 0: it exited

  bool ok() const { return exit_code == 0 && signal == 0; }
  // "exited with code 3", "was killed by signal 9 (Killed)".
  std::string Text() const;
};

// One thread at a time, and always the thread that called Start: the kernel kills the child when that thread ends, however it ends. The
// child leads a process group of its own, so that Ctrl-C at a terminal reaches the launcher alone.
class ChildProcess {
 public:
  // Returns once the binary runs. Errors name process and path: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const ProcessSpec& spec);
  // Kills the group if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }
  const std::string& log_path() const { return log_path_; }

  // How it ended; empty while it runs. What is left of its group is killed with it. Does not wait.
  std::optional<ProcessEnd> Poll();
  // What Poll saw last.
  const std::optional<ProcessEnd>& end() const { return end_; }
  // Sends a signal to its group, if it still runs.
  void Signal(int signal);

 private:
  ChildProcess(const ProcessSpec& spec, pid_t pid) : name_(spec.name), log_path_(spec.log_path), pid_(pid) {}

  const std::string name_;
  const std::string log_path_;
  const pid_t pid_;
  std::optional<ProcessEnd> end_;
};

// The last `lines` lines of a file, at most 64 KiB; empty when there is no such file.
std::string LastLines(const std::string& path, int lines);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_CHILD_PROCESS_H_
