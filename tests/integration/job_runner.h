// Runs jobs as a person does: the weir binary, real processes, a run folder to look into. For tests only.
#ifndef WEIR_TESTS_INTEGRATION_JOB_RUNNER_H_
#define WEIR_TESTS_INTEGRATION_JOB_RUNNER_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace weir::testing {

struct CommandResult {
  int exit_code = 0;
  std::string output;  // standard output and error together
};

// A command that runs while the test goes on. Killed with its children in the destructor.
class RunningCommand {
 public:
  explicit RunningCommand(const std::vector<std::string>& command);
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // Reads output until `text` appears; false when it ends or a minute passes before.
  bool WaitForOutput(const std::string& text);
  void Signal(int signal);
  // Waits for its end, for two minutes at most.
  CommandResult Wait();

 private:
  bool ReadSome();

  pid_t pid_ = 0;
  int output_ = -1;
  std::string text_;
};

// A folder of its own with generated data, and jobs in it.
class JobRunner {
 public:
  JobRunner();

  const std::string& dir() const { return dir_; }
  std::string RunDir(const std::string& name) const { return dir_ + "/runs/" + name; }

  // Generates `rows` rows of small vocabularies into dir()/`file`.
  void Generate(const std::string& file, int rows);
  // The command line of `weir launch examples/tiny.yaml` as job `name` on dir()/`data`, with further --set overrides.
  std::vector<std::string> LaunchCommand(const std::string& name, const std::string& data, const std::vector<std::string>& sets) const;
  CommandResult Launch(const std::string& name, const std::string& data, const std::vector<std::string>& sets) const;
  // Launches and expects success; the parsed result.json.
  nlohmann::json Train(const std::string& name, const std::string& data, const std::vector<std::string>& sets) const;

  // Pids of live processes whose command line names this runner's folder.
  std::vector<pid_t> LiveProcesses() const;
  // Pid of the live process `binary` of this runner's jobs ("weir-worker"), the index-th in pid order; 0: none.
  pid_t ProcessOf(const std::string& binary, size_t index) const;

 private:
  std::string dir_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& content);

}  // namespace weir::testing

#endif  // WEIR_TESTS_INTEGRATION_JOB_RUNNER_H_
