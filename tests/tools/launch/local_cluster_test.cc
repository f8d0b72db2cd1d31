#include "tools/launch/local_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/job_file.h"
#include "tests/tools/launch/process_groups.h"
#include "tools/launch/new_run_folder.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// Two servers and two workers whose binaries are shell scripts. Every script first writes its pid to the file `pids`.
class LocalClusterTest : public testing::Test {
 protected:
  static constexpr char kWaitForever[] = "while :; do sleep 0.05; done";
  // What the real coordinator does with --address-file, which is its eighth argument. Nobody listens there: no status comes.
  static constexpr char kTellAddress[] = "echo 127.0.0.1:1 > $8.new; mv $8.new $8; ";

  // All five have started.
  std::string WaitForAll() const {
    return absl::StrCat("while [ $(wc -l < ", (root_ / "pids").string(), ") -lt 5 ]; do sleep 0.02; done; ");
  }

  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "bin");
    const absl::StatusOr<Job> job =
        ParseJob("name: fake\ndata: {train: [rows.tsv]}\n", "job.yaml", {"output.dir=" + (root_ / "runs").string()});
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *job;
    absl::StatusOr<std::unique_ptr<StopSignals>> signals = StopSignals::Create();
    ASSERT_TRUE(signals.ok()) << signals.status();
    signals_ = *std::move(signals);
    Script("weir-coordinator", absl::StrCat(kTellAddress, kWaitForever));
    Script("weir-server", kWaitForever);
    Script("weir-worker", kWaitForever);
  }

  void Script(const std::string& name, const std::string& body) {
    const fs::path path = root_ / "bin" / name;
    std::ofstream(path) << "#!/bin/sh\necho $$ >> " << (root_ / "pids").string() << "\n" << body << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  absl::Status Run() {
    ClusterOptions options;
    options.run_dir = MakeRunFolder(job_).value();
    options.binaries = FindBinaries((root_ / "bin").string(), "").value();
    options.start_timeout = start_timeout_;
    options.stop_grace = stop_grace_;
    options.refresh = absl::Milliseconds(5);
    const absl::Status status = LocalCluster(job_, options, signals_.get()).Run([](const StatusReply&) {});
    for (const pid_t pid : Pids()) EXPECT_TRUE(Eventually([pid = pid] { return !GroupRuns(pid); })) << "group " << pid << " is left";
    return status;
  }

  std::vector<pid_t> Pids() const {
    std::ostringstream text;
    text << std::ifstream(root_ / "pids").rdbuf();
    std::vector<pid_t> pids;
    for (absl::string_view line : absl::StrSplit(text.str(), '\n', absl::SkipEmpty())) {
      pid_t pid = 0;
      if (absl::SimpleAtoi(line, &pid)) pids.push_back(pid);
    }
    return pids;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "local_cluster";
  Job job_;
  std::unique_ptr<StopSignals> signals_;
  absl::Duration start_timeout_ = absl::Seconds(20);
  absl::Duration stop_grace_ = absl::Seconds(20);
};

TEST_F(LocalClusterTest, AllEndWell) {
  Script("weir-coordinator", absl::StrCat(kTellAddress, WaitForAll()));
  Script("weir-server", "exit 0");
  Script("weir-worker", "exit 0");
  EXPECT_EQ(Run(), absl::OkStatus());
  EXPECT_EQ(Pids().size(), 5);
}

TEST_F(LocalClusterTest, ProcessesGetTheirArguments) {
  Script("weir-coordinator", absl::StrCat("echo \"$@\"; ", kTellAddress, WaitForAll()));
  Script("weir-server", "exit 0");
  Script("weir-worker", "echo \"$@\"; exit 0");
  EXPECT_EQ(Run(), absl::OkStatus());
  const std::string run_dir = (root_ / "runs/fake").string();
  EXPECT_EQ(LastLines(run_dir + "/logs/coordinator.log", 1), absl::StrCat("--job ", run_dir, "/job.yaml --listen 127.0.0.1:0 --run-dir ",
                                                                          run_dir, " --address-file ", run_dir, "/coordinator.address"));
  EXPECT_EQ(LastLines(run_dir + "/logs/worker-1.log", 1), "--coordinator 127.0.0.1:1 --listen 127.0.0.1:0");
}

TEST_F(LocalClusterTest, FirstToDieEndsTheJobWithItsExitAndLastLines) {
  Script("weir-server", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo line $i; done; exit 7");
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              MatchesRegex("server [01] \\(pid [0-9]+\\) exited with code 7; the end of .*/logs/server-[01].log:\n"
                           "line 2\n(.|\n)*line 13"));
}

TEST_F(LocalClusterTest, SignalThatKilledAProcessIsNamed) {
  Script("weir-worker", "kill -KILL $$");
  EXPECT_THAT(std::string(Run().message()), HasSubstr("was killed by signal 9 (Killed)"));
}

TEST_F(LocalClusterTest, CoordinatorThatDiesBeforeItTellsItsAddress) {
  Script("weir-coordinator", "echo job.yaml:3: wrong >&2; exit 1");
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("coordinator (pid "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("job.yaml:3: wrong"));
  EXPECT_EQ(Pids().size(), 1);
}

TEST_F(LocalClusterTest, CoordinatorThatNeverTellsItsAddress) {
  Script("weir-coordinator", kWaitForever);
  start_timeout_ = absl::Milliseconds(100);
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("told no address within 100ms"));
}

TEST_F(LocalClusterTest, CoordinatorThatDoesNotAnswer) {
  job_.mutable_cluster()->set_stall_timeout_seconds(0.2);
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did not answer for 200ms"));
}

TEST_F(LocalClusterTest, StopSignalLeavesNothingBehind) {
  // A worker interrupts the launcher, as Ctrl-C would.
  for (const auto& [name, number] : std::map<std::string, int>{{"INT", SIGINT}, {"TERM", SIGTERM}}) {
    signals_.reset();
    signals_ = StopSignals::Create().value();
    Script("weir-worker", absl::StrCat("kill -", name, " ", getpid(), "; ", kWaitForever));
    EXPECT_EQ(Run().code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(signals_->stopped_by(), number);
  }
}

TEST_F(LocalClusterTest, WhoIgnoresTermIsKilled) {
  stop_grace_ = absl::Milliseconds(100);
  Script("weir-server", absl::StrCat("trap '' TERM; ", kWaitForever));
  Script("weir-worker", "exit 1");
  EXPECT_EQ(Run().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace weir::tools
