#include "tools/launch/local_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/grpc_endpoint.h"
#include "proto/control_service.grpc.pb.h"
#include "proto/job_file.h"
#include "tests/tools/launch/process_groups.h"
#include "tools/launch/new_run_folder.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// A coordinator's service that sees who has joined by what the scripts of LocalClusterTest wrote.
class FakeControlService final : public ControlService::Service {
 public:
  // pids: what the scripts wrote; reason: why the job has failed, when there is such a file.
  FakeControlService(const fs::path& pids, const fs::path& reason) : pids_(pids), reason_(reason) {}

  grpc::Status Status(grpc::ServerContext*, const StatusRequest*, StatusReply* reply) override {
    if (silent_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "silent");
    if (std::ifstream reason(reason_); reason) {
      reply->set_state(StatusReply::STATE_FAILED);
      std::getline(reason, *reply->mutable_reason());
    }
    if (nobody_joins_) return grpc::Status::OK;
    std::ifstream file(pids_);
    for (std::string line; std::getline(file, line);) {
      if (absl::EndsWith(line, "weir-server")) reply->set_servers_registered(reply->servers_registered() + 1);
      if (absl::EndsWith(line, "weir-worker")) reply->set_workers_registered(reply->workers_registered() + 1);
    }
    return grpc::Status::OK;
  }
  grpc::Status Stop(grpc::ServerContext*, const StopRequest*, StopReply*) override { return grpc::Status::OK; }

  void Silence() { silent_ = true; }
  void LetNobodyJoin() { nobody_joins_ = true; }

 private:
  const fs::path pids_;
  const fs::path reason_;
  std::atomic<bool> silent_{false};
  std::atomic<bool> nobody_joins_{false};
};

// Two servers and two workers whose binaries are shell scripts. Every script first writes its pid and its path to the file `pids`.
class LocalClusterTest : public testing::Test {
 protected:
  static constexpr char kWaitForever[] = "while :; do sleep 0.05; done";

  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "bin");
    const absl::StatusOr<Job> job =
        ParseJob("name: fake\ndata: {train: [rows.tsv]}\n", "job.yaml", {"output.dir=" + (root_ / "runs").string()});
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *job;
    // Before the service starts its threads.
    absl::StatusOr<std::unique_ptr<StopSignals>> signals = StopSignals::Create();
    ASSERT_TRUE(signals.ok()) << signals.status();
    signals_ = *std::move(signals);
    absl::StatusOr<std::unique_ptr<GrpcEndpoint>> endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {&service_});
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
    Script("weir-coordinator", absl::StrCat(TellAddress(), kWaitForever));
    Script("weir-server", kWaitForever);
    Script("weir-worker", kWaitForever);
  }

  // What the real coordinator does with --address-file, which is its eighth argument.
  std::string TellAddress() const { return absl::StrCat("echo ", endpoint_->address(), " > $8.new; mv $8.new $8; "); }
  // Ends well once the launcher has seen that everybody has joined.
  std::string WaitForGo() const { return absl::StrCat("while [ ! -e ", (root_ / "go").string(), " ]; do sleep 0.02; done"); }

  void Script(const std::string& name, const std::string& body) {
    const fs::path path = root_ / "bin" / name;
    std::ofstream(path) << "#!/bin/sh\necho $$ $0 >> " << (root_ / "pids").string() << "\n" << body << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  absl::Status Run() {
    ClusterOptions options;
    options.run_dir = MakeRunFolder(job_).value();
    options.binaries = FindBinaries((root_ / "bin").string(), "").value();
    options.start_timeout = start_timeout_;
    options.stop_grace = stop_grace_;
    options.refresh = absl::Milliseconds(5);
    const absl::Status status = LocalCluster(job_, options, signals_.get()).Run([this](const StatusReply&) {
      std::ofstream(root_ / "go") << "";
      if (silent_after_start_) service_.Silence();
    });
    for (const pid_t pid : Pids()) EXPECT_TRUE(Eventually([pid = pid] { return !GroupRuns(pid); })) << "group " << pid << " is left";
    return status;
  }

  std::vector<pid_t> Pids() const {
    std::ifstream file(root_ / "pids");
    std::vector<pid_t> pids;
    for (std::string line; std::getline(file, line);) pids.push_back(std::stoi(line));
    return pids;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "local_cluster";
  Job job_;
  std::unique_ptr<StopSignals> signals_;
  FakeControlService service_{root_ / "pids", root_ / "reason"};
  std::unique_ptr<GrpcEndpoint> endpoint_;
  absl::Duration start_timeout_ = absl::Seconds(20);
  absl::Duration stop_grace_ = absl::Seconds(20);
  bool silent_after_start_ = false;
};

TEST_F(LocalClusterTest, AllEndWell) {
  Script("weir-coordinator", absl::StrCat(TellAddress(), WaitForGo()));
  Script("weir-server", WaitForGo());
  Script("weir-worker", WaitForGo());
  EXPECT_EQ(Run(), absl::OkStatus());
  EXPECT_EQ(Pids().size(), 5);
}

TEST_F(LocalClusterTest, ProcessesGetTheirArguments) {
  Script("weir-coordinator", absl::StrCat("echo \"$@\"; ", TellAddress(), WaitForGo()));
  Script("weir-server", WaitForGo());
  Script("weir-worker", absl::StrCat("echo \"$@\"; ", WaitForGo()));
  EXPECT_EQ(Run(), absl::OkStatus());
  const std::string run_dir = (root_ / "runs/fake").string();
  EXPECT_EQ(LastLines(run_dir + "/logs/coordinator.log", 1), absl::StrCat("--job ", run_dir, "/job.yaml --listen 127.0.0.1:0 --run-dir ",
                                                                          run_dir, " --address-file ", run_dir, "/coordinator.address"));
  EXPECT_EQ(LastLines(run_dir + "/logs/worker-1.log", 1), absl::StrCat("--coordinator ", endpoint_->address(), " --listen 127.0.0.1:0"));
}

TEST_F(LocalClusterTest, FirstToDieEndsTheJobWithItsExitAndLastLines) {
  Script("weir-server", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo line $i; done; exit 7");
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              MatchesRegex("server [01] \\(pid [0-9]+\\) exited with code 7; the end of .*/logs/server-[01].log:\n"
                           "line 2\n(.|\n)*line 13"));
}

// Worker 1 finds a bad row and says so; worker 0 ends first, because its peer has gone silent.
TEST_F(LocalClusterTest, WhoCausedTheFailureIsNamedNotWhoEndedFirst) {
  const std::string reason = (root_ / "reason").string();
  const std::string pids = (root_ / "pids").string();
  Script("weir-worker",
         absl::StrCat("me=$(grep worker ", pids, " | grep -n \"^$$ \" | cut -d: -f1); ", WaitForGo(), "; if [ $me = 2 ]; then ",
                      "echo 'worker 1: rows.tsv, line 7' > ", reason, ".new; mv ", reason, ".new ", reason,
                      "; sleep 0.2; echo rows.tsv, line 7; else while [ ! -e ", reason, " ]; do sleep 0.01; done; fi; exit 1"));
  EXPECT_THAT(std::string(Run().message()), MatchesRegex("worker 1 (.|\n)*rows.tsv, line 7"));
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
  silent_after_start_ = true;
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did not answer for 200ms"));
}

TEST_F(LocalClusterTest, ProcessThatNeverJoins) {
  service_.LetNobodyJoin();
  start_timeout_ = absl::Milliseconds(300);
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              MatchesRegex("server 0 \\(pid [0-9]+\\) did not join the job within 300ms; see .*/server-0.log"));
}

// A worker interrupts the launcher, as Ctrl-C would.
TEST_F(LocalClusterTest, CtrlCLeavesNothingBehind) {
  Script("weir-worker", absl::StrCat("kill -INT ", getpid(), "; ", kWaitForever));
  EXPECT_EQ(Run().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(signals_->stopped_by(), SIGINT);
}

TEST_F(LocalClusterTest, SigtermLeavesNothingBehind) {
  Script("weir-worker", absl::StrCat(WaitForGo(), "; kill -TERM ", getpid(), "; ", kWaitForever));
  EXPECT_EQ(Run().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(signals_->stopped_by(), SIGTERM);
}

TEST_F(LocalClusterTest, WhoIgnoresTermIsKilled) {
  stop_grace_ = absl::Milliseconds(100);
  Script("weir-server", absl::StrCat("trap '' TERM; ", kWaitForever));
  Script("weir-worker", "exit 1");
  EXPECT_EQ(Run().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace weir::tools
