#include "tests/integration/job_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace weir::testing {
namespace {

constexpr char kWeir[] = "tools/weir";
constexpr char kTinyJob[] = "examples/tiny.yaml";

}  // namespace

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void WriteFile(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

RunningCommand::RunningCommand(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
}

RunningCommand::~RunningCommand() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

bool RunningCommand::ReadSome() {
  pollfd poll_output = {output_, POLLIN, 0};
  if (poll(&poll_output, 1, 100) == 0) return true;
  char buffer[4096];
  const ssize_t count = read(output_, buffer, sizeof(buffer));
  if (count <= 0) return false;
  text_.append(buffer, count);
  return true;
}

bool RunningCommand::WaitForOutput(const std::string& text) {
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (!absl::StrContains(text_, text)) {
    if (absl::Now() > deadline || !ReadSome()) return absl::StrContains(text_, text);
  }
  return true;
}

void RunningCommand::Signal(int signal) { kill(pid_, signal); }

CommandResult RunningCommand::Wait() {
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  while (ReadSome()) {
    if (absl::Now() < deadline) continue;
    ADD_FAILURE() << "still running after two minutes; so far:\n" << text_;
    kill(-pid_, SIGKILL);
    break;
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text_};
}

JobRunner::JobRunner() {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string name = absl::StrCat(base != nullptr ? base : "/tmp", "/job-XXXXXX");
  if (mkdtemp(name.data()) == nullptr) std::abort();
  dir_ = name;
}

void JobRunner::Generate(const std::string& file, int rows) {
  RunningCommand command({kWeir, "datagen", "--rows", absl::StrCat(rows), "--seed", "5", "--out", absl::StrCat(dir_, "/", file)});
  const CommandResult result = command.Wait();
  ASSERT_EQ(result.exit_code, 0) << result.output;
}

std::vector<std::string> JobRunner::LaunchCommand(const std::string& name, const std::string& data,
                                                  const std::vector<std::string>& sets) const {
  std::vector<std::string> command = {kWeir, "launch", kTinyJob};
  std::vector<std::string> all = {absl::StrCat("name=", name), absl::StrCat("output.dir=", dir_, "/runs"),
                                  absl::StrCat("data.train=[", dir_, "/", data, "]")};
  all.insert(all.end(), sets.begin(), sets.end());
  for (const std::string& set : all) {
    command.push_back("--set");
    command.push_back(set);
  }
  return command;
}

CommandResult JobRunner::Launch(const std::string& name, const std::string& data, const std::vector<std::string>& sets) const {
  RunningCommand command(LaunchCommand(name, data, sets));
  return command.Wait();
}

nlohmann::json JobRunner::Train(const std::string& name, const std::string& data, const std::vector<std::string>& sets) const {
  const CommandResult result = Launch(name, data, sets);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const auto parsed = nlohmann::json::parse(ReadFile(RunDir(name) + "/result.json"), nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(parsed.is_object()) << result.output;
  return parsed;
}

std::vector<pid_t> JobRunner::LiveProcesses() const {
  std::vector<pid_t> live;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    // A process of a job runs in its folder's environment: the launcher and the coordinator name it, the others write their logs into it.
    if (pid == 0 || pid == getpid()) continue;
    std::error_code ignored;
    const std::string log = std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/fd/2"), ignored).string();
    if (absl::StrContains(ReadFile(absl::StrCat("/proc/", pid, "/cmdline")), dir_) || absl::StrContains(log, dir_)) live.push_back(pid);
  }
  std::sort(live.begin(), live.end());
  return live;
}

pid_t JobRunner::ProcessOf(const std::string& binary, size_t index) const {
  std::vector<pid_t> found;
  for (const pid_t pid : LiveProcesses()) {
    const std::string command = ReadFile(absl::StrCat("/proc/", pid, "/cmdline"));
    if (absl::EndsWith(command.substr(0, command.find('\0')), binary)) found.push_back(pid);
  }
  return index < found.size() ? found[index] : 0;
}

}  // namespace weir::testing
