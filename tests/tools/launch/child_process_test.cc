#include "tools/launch/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/tools/launch/process_groups.h"

namespace weir::tools {
namespace {

using ::testing::HasSubstr;

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ChildProcessTest : public testing::Test {
 protected:
  std::unique_ptr<ChildProcess> Shell(const std::string& script) {
    absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start({"worker 1", {"/bin/sh", "-c", script}, log_});
    EXPECT_TRUE(child.ok()) << child.status();
    return child.ok() ? *std::move(child) : nullptr;
  }

  static ProcessEnd EndOf(ChildProcess* child) {
    EXPECT_TRUE(Eventually([child] { return child->Poll().has_value(); }));
    return child->Poll().value_or(ProcessEnd());
  }

  const std::string log_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".log";
};

TEST_F(ChildProcessTest, TellsExitCodeAndKeepsBothOutputs) {
  std::ofstream(log_) << "of an earlier run\n";
  const auto child = Shell("echo out; echo err >&2; exit 3");
  const ProcessEnd end = EndOf(child.get());
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_FALSE(end.ok());
  EXPECT_EQ(end.Text(), "exited with code 3");
  EXPECT_EQ(Content(log_), "out\nerr\n");
}

TEST_F(ChildProcessTest, TellsTheSignal) {
  const auto child = Shell("kill -SEGV $$");
  EXPECT_THAT(EndOf(child.get()).Text(), HasSubstr("was killed by signal 11 (Segmentation fault)"));
}

TEST_F(ChildProcessTest, MissingBinaryIsNamed) {
  const absl::Status status = ChildProcess::Start({"server 0", {"/no/such/binary"}, log_}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("server 0: cannot run /no/such/binary"));
}

TEST_F(ChildProcessTest, UnwritableLogIsNamed) {
  const absl::Status status = ChildProcess::Start({"server 0", {"/bin/true"}, "/no/such/folder/x.log"}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/folder/x.log"));
}

TEST_F(ChildProcessTest, ItsOwnChildrenEndWithIt) {
  const auto child = Shell("sleep 1000 & echo started; exit 0");
  EXPECT_TRUE(EndOf(child.get()).ok());
  EXPECT_TRUE(Eventually([&] { return !GroupRuns(child->pid()); }));
}

TEST_F(ChildProcessTest, DestructorLeavesNothing) {
  auto child = Shell("trap '' TERM INT; sleep 1000 & echo started; wait");
  ASSERT_TRUE(Eventually([&] { return Content(log_) == "started\n"; }));
  const pid_t group = child->pid();
  child.reset();
  EXPECT_TRUE(Eventually([&] { return !GroupRuns(group); }));
}

TEST_F(ChildProcessTest, DiesWithItsLauncher) {
  // A launcher of our own that starts a child, tells its pid, and is killed.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    const auto child = Shell("trap '' TERM; exec sleep 1000");
    const pid_t pid = child->pid();
    if (write(ends[1], &pid, sizeof(pid)) != sizeof(pid)) _exit(1);
    while (true) pause();
  }
  pid_t child = 0;
  ASSERT_EQ(read(ends[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  ASSERT_EQ(kill(child, 0), 0);
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return !GroupRuns(child); })) << "pid " << child << " outlives its launcher";
  close(ends[0]);
  close(ends[1]);
}

TEST(LastLinesTest, CountsFromTheEnd) {
  const std::string path = testing::TempDir() + "/lines";
  EXPECT_EQ(LastLines(path + ".none", 3), "");
  std::ofstream(path) << "a\nb\n\nc\n";
  EXPECT_EQ(LastLines(path, 1), "c");
  EXPECT_EQ(LastLines(path, 3), "b\n\nc");
  EXPECT_EQ(LastLines(path, 9), "a\nb\n\nc");
  std::ofstream(path) << "";
  EXPECT_EQ(LastLines(path, 3), "");
}

TEST(LastLinesTest, ReadsOnlyTheTail) {
  const std::string path = testing::TempDir() + "/long";
  std::ofstream(path) << std::string(1 << 20, 'x') << "\nend\n";
  EXPECT_EQ(LastLines(path, 1), "end");
  EXPECT_LE(LastLines(path, 5).size(), size_t{64} << 10);
}

}  // namespace
}  // namespace weir::tools
