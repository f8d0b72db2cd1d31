// Every call of ControlClient against the service, over real connections.
#include "server/coordinator/control_service.h"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/control_client.h"
#include "tests/server/coordinator/simulated_job.h"

namespace weir::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);

// One range of 10 rows for each set, then no more.
class OneRangePlanner final : public RangePlanner {
 public:
  absl::StatusOr<NextRangeReply> Next(const NextRangeRequest& request) override {
    NextRangeReply reply;
    reply.set_done(request.request() > 0);
    reply.set_rows(reply.done() ? 0 : 10);
    return reply;
  }
  absl::StatusOr<bool> CountMore() override { return true; }
  absl::StatusOr<DataPosition> Position(absl::Span<const WorkerPosition>) override { return DataPosition(); }
  uint64_t total_rows(NextRangeRequest::Set) const override { return 10; }
};

// Calls Coordinator::Tick on a thread, as main does.
class Ticker {
 public:
  explicit Ticker(Coordinator* coordinator) : thread_([this, coordinator] { Loop(coordinator); }) {}
  ~Ticker() {
    {
      MutexLock lock(&mu_);
      ending_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

 private:
  void Loop(Coordinator* coordinator) {
    while (true) {
      coordinator->Tick(absl::Now());
      MutexLock lock(&mu_);
      if (changed_.WaitUntil(&mu_, absl::Now() + absl::Milliseconds(20), [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ending_; })) {
        return;
      }
    }
  }
  Mutex mu_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

// What a heartbeat thread was told.
struct Instructed {
  std::promise<std::pair<HeartbeatReply::Instruction, std::string>> promise;
  std::function<void(HeartbeatReply::Instruction, std::string)> Callback() {
    return [this](HeartbeatReply::Instruction instruction, std::string reason) { promise.set_value({instruction, std::move(reason)}); };
  }
  std::pair<HeartbeatReply::Instruction, std::string> Get() { return promise.get_future().get(); }
};

class ControlServiceTest : public ::testing::Test {
 protected:
  ControlServiceTest()
      : job_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name(), absl::Now()),
        ticker_(job_.coordinator.get()),
        ranges_(&planner_, [this](const absl::Status& status) { job_.coordinator->Fail(status.message(), absl::Now()); }),
        checkpoints_({}, absl::Now()),
        moves_({}),
        service_(CreateControlService(job_.coordinator.get(), &ranges_, &checkpoints_, &moves_)) {
    absl::StatusOr<std::unique_ptr<GrpcEndpoint>> endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {service_.get()});
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
  }

  std::unique_ptr<ControlClient> Join(Role role) {
    ControlClient::Options options;
    options.coordinator = endpoint_->address();
    options.role = role;
    options.address = "127.0.0.1:9";
    options.timeout = kPatience;
    absl::StatusOr<std::unique_ptr<ControlClient>> client = ControlClient::Join(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  struct Members {
    std::vector<std::unique_ptr<ControlClient>> servers;
    std::vector<std::unique_ptr<ControlClient>> workers;
  };
  Members JoinAll() {
    Members members;
    for (int i = 0; i < 2; ++i) {
      members.servers.push_back(Join(ROLE_SERVER));
      members.workers.push_back(Join(ROLE_WORKER));
    }
    return members;
  }
  StatusReply GetStatus() {
    const auto stub = ControlService::NewStub(OpenChannel(endpoint_->address(), Edge::kNotCounted));
    grpc::ClientContext context;
    SetDeadline(&context, absl::Now() + kPatience);
    StatusReply reply;
    EXPECT_TRUE(stub->Status(&context, StatusRequest(), &reply).ok());
    return reply;
  }

  testing::SimulatedJob job_;
  Ticker ticker_;
  OneRangePlanner planner_;
  RangeServer ranges_;
  Checkpoints checkpoints_;  // of a job that saves none
  ShardMoves moves_;         // of a job that stays as it is
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<GrpcEndpoint> endpoint_;
};

TEST_F(ControlServiceTest, JoiningGivesPlaceAndJob) {
  const Members members = JoinAll();
  EXPECT_EQ(members.servers[1]->index(), 1u);
  EXPECT_EQ(members.workers[0]->index(), 0u);
  EXPECT_EQ(members.workers[0]->job_hash(), 0xabcu);
  EXPECT_EQ(members.workers[0]->job().name(), "small");
  EXPECT_NE(members.workers[0]->incarnation(), members.workers[1]->incarnation());
  ControlClient::Options third;
  third.coordinator = endpoint_->address();
  third.role = ROLE_WORKER;
  const absl::Status refused = ControlClient::Join(third).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(endpoint_->address()));
}

TEST_F(ControlServiceTest, AReaderIsReleasedByAWriter) {
  const Members members = JoinAll();
  std::future<absl::StatusOr<std::vector<std::string>>> reader = std::async(std::launch::async, [&] {
    return members.workers[0]->GetValues({ServerAddressKey(0), ServerAddressKey(1)}, kPatience);
  });
  ASSERT_TRUE(members.servers[1]->PutValue(ServerAddressKey(1), "b").ok());
  ASSERT_TRUE(members.servers[0]->PutValue(ServerAddressKey(0), "a").ok());
  const absl::StatusOr<std::vector<std::string>> values = reader.get();
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre("a", "b"));
  EXPECT_TRUE(absl::IsAlreadyExists(members.servers[1]->PutValue(ServerAddressKey(0), "other")));
}

TEST_F(ControlServiceTest, DeadlinesSayWhatIsMissing) {
  const Members members = JoinAll();
  const absl::Status values = members.workers[0]->GetValues({"absent"}, absl::Milliseconds(500)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(values));
  EXPECT_THAT(std::string(values.message()), HasSubstr("absent"));
  EXPECT_THAT(std::string(values.message()), HasSubstr(endpoint_->address()));
  const absl::Status barrier = members.workers[1]->Barrier("x", absl::Milliseconds(500));
  EXPECT_TRUE(absl::IsDeadlineExceeded(barrier));
  EXPECT_THAT(std::string(barrier.message()), HasSubstr("waits for worker 0"));
}

TEST_F(ControlServiceTest, ABarrierOpensForAll) {
  const Members members = JoinAll();
  std::future<absl::Status> first = std::async(std::launch::async, [&] { return members.workers[0]->Barrier("x", kPatience); });
  EXPECT_TRUE(members.workers[1]->Barrier("x", kPatience).ok());
  EXPECT_TRUE(first.get().ok());
}

TEST_F(ControlServiceTest, RangesAreNumbered) {
  const Members members = JoinAll();
  for (const NextRangeRequest::Set set : {NextRangeRequest::SET_TRAIN, NextRangeRequest::SET_TEST}) {
    absl::StatusOr<NextRangeReply> range = members.workers[0]->NextRange(set);
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_EQ(range->rows(), 10u);
    range = members.workers[0]->NextRange(set);
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_TRUE(range->done());
  }
}

// Starts heartbeats everywhere, trains a window on each worker, evaluates, leaves.
TEST_F(ControlServiceTest, AWholeJob) {
  Members members = JoinAll();
  std::vector<Instructed> servers(2);
  for (int i = 0; i < 2; ++i) members.servers[i]->StartHeartbeats(absl::Milliseconds(10), nullptr, servers[i].Callback());
  for (const auto& worker : members.workers) {
    ASSERT_TRUE(worker->NextRange(NextRangeRequest::SET_TRAIN).ok());
    // The period is so long that the window can only arrive with Leave.
    bool taken = false;
    worker->StartHeartbeats(
        absl::Hours(1),
        [taken]() mutable {
          WorkerProgress progress;
          if (std::exchange(taken, true)) {
            progress.set_steps(3);
            progress.mutable_window()->set_samples(2);
            progress.mutable_window()->set_logloss_sum(1);
          }
          return progress;
        },
        [](HeartbeatReply::Instruction, const std::string& reason) { ADD_FAILURE() << reason; });
  }
  EXPECT_EQ(GetStatus().state(), StatusReply::STATE_TRAINING);
  const std::vector<float> scores = {0.25f, 0.75f};
  const std::vector<uint8_t> labels = {0, 1};
  for (const auto& worker : members.workers) ASSERT_TRUE(worker->ReportEvaluation(scores, labels).ok());
  EXPECT_EQ(GetStatus().evaluated(), 4u);
  for (const auto& worker : members.workers) {
    LeaveRequest leave;
    leave.set_samples(2);
    const absl::Status status = worker->Leave(leave);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_NEAR(GetStatus().logloss(), 0.5, 1e-12);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(servers[i].Get().first, HeartbeatReply::INSTRUCTION_LEAVE);
    ASSERT_TRUE(members.servers[i]->Leave({}).ok());
  }
  job_.coordinator->Tick(absl::Now());
  const StatusReply status = GetStatus();
  EXPECT_EQ(status.state(), StatusReply::STATE_DONE);
  EXPECT_EQ(status.samples(), 4u);
  EXPECT_TRUE(job_.coordinator->ending(absl::Now())->heard);
}

TEST_F(ControlServiceTest, StopReachesHeartbeatsAndWaiters) {
  const Members members = JoinAll();
  Instructed server;
  members.servers[0]->StartHeartbeats(absl::Milliseconds(10), nullptr, server.Callback());
  std::future<absl::Status> waiter = std::async(std::launch::async, [&] { return members.workers[0]->Barrier("x", kPatience); });
  ASSERT_TRUE(members.workers[1]->Stop("worker 1: bad row in line 7").ok());
  const auto [instruction, reason] = server.Get();
  EXPECT_EQ(instruction, HeartbeatReply::INSTRUCTION_ABORT);
  EXPECT_THAT(reason, HasSubstr("bad row in line 7"));
  const absl::Status released = waiter.get();
  EXPECT_TRUE(absl::IsAborted(released));
  EXPECT_THAT(std::string(released.message()), HasSubstr("bad row in line 7"));
  EXPECT_EQ(GetStatus().state(), StatusReply::STATE_FAILED);
}

}  // namespace
}  // namespace weir::server
