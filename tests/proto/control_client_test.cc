// The client alone, against a coordinator that misbehaves.
#include "proto/control_client.h"

#include <atomic>
#include <deque>
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

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records what it is asked. Answers with the next of `faults`, or OK when there is none.
class FakeCoordinator final : public ControlService::Service {
 public:
  grpc::Status Register(grpc::ServerContext*, const RegisterRequest* request, RegisterReply* reply) override {
    Job job;
    job.mutable_cluster()->set_stall_timeout_seconds(stall_seconds_);
    reply->set_job(job.SerializeAsString());
    reply->set_index(3);
    return Fault();
  }
  grpc::Status Heartbeat(grpc::ServerContext* context, const HeartbeatRequest* request, HeartbeatReply* reply) override {
    if (hangs_) {
      hanging_.set_value();
      while (!context->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    }
    Note("heartbeat");
    MutexLock lock(&mu_);
    beats_.push_back(*request);
    beaten_.NotifyAll();
    reply->set_instruction(HeartbeatReply::INSTRUCTION_GO_ON);
    return FaultLocked();
  }
  grpc::Status NextRange(grpc::ServerContext*, const NextRangeRequest* request, NextRangeReply*) override {
    MutexLock lock(&mu_);
    range_requests_.push_back(request->request());
    return FaultLocked();
  }
  grpc::Status ReportEvaluation(grpc::ServerContext*, const ReportEvaluationRequest* request, ReportEvaluationReply*) override {
    MutexLock lock(&mu_);
    reports_.emplace_back(request->request(), request->labels().size());
    return FaultLocked();
  }
  grpc::Status PutValue(grpc::ServerContext*, const PutValueRequest*, PutValueReply*) override {
    Note("put");
    return Fault();
  }
  grpc::Status Leave(grpc::ServerContext*, const LeaveRequest* request, LeaveReply*) override {
    EXPECT_EQ(request->index(), 3u);
    EXPECT_EQ(request->role(), ROLE_WORKER);
    EXPECT_NE(request->incarnation(), 0u);
    Note("leave");
    return Fault();
  }

  // Of clients that join from now on.
  void SetStallSeconds(double seconds) { stall_seconds_ = seconds; }
  void Hang() { hangs_ = true; }
  std::future<void> hanging() { return hanging_.get_future(); }
  void FailNext(int times, grpc::StatusCode code) {
    MutexLock lock(&mu_);
    for (int i = 0; i < times; ++i) faults_.push_back(code);
  }
  std::vector<HeartbeatRequest> WaitForBeats(size_t count) {
    MutexLock lock(&mu_);
    EXPECT_TRUE(beaten_.WaitUntil(&mu_, absl::Now() + absl::Seconds(30),
                                  [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return beats_.size() >= count; }));
    return beats_;
  }
  std::vector<std::string> calls() {
    MutexLock lock(&mu_);
    return calls_;
  }
  std::vector<uint64_t> range_requests() {
    MutexLock lock(&mu_);
    return range_requests_;
  }
  std::vector<std::pair<uint64_t, size_t>> reports() {
    MutexLock lock(&mu_);
    return reports_;
  }

 private:
  void Note(const std::string& call) {
    MutexLock lock(&mu_);
    calls_.push_back(call);
  }
  grpc::Status Fault() {
    MutexLock lock(&mu_);
    return FaultLocked();
  }
  grpc::Status FaultLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (faults_.empty()) return grpc::Status::OK;
    const grpc::StatusCode code = faults_.front();
    faults_.pop_front();
    return grpc::Status(code, "a fault of the test");
  }

  std::atomic<double> stall_seconds_{0.4};
  std::atomic<bool> hangs_{false};
  std::promise<void> hanging_;
  Mutex mu_;
  CondVar beaten_;
  std::deque<grpc::StatusCode> faults_ ABSL_GUARDED_BY(mu_);
  std::vector<HeartbeatRequest> beats_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> range_requests_ ABSL_GUARDED_BY(mu_);
  std::vector<std::pair<uint64_t, size_t>> reports_ ABSL_GUARDED_BY(mu_);
};

ControlClient::Options OptionsOf(const std::string& coordinator) {
  ControlClient::Options options;
  options.coordinator = coordinator;
  options.role = ROLE_WORKER;
  options.address = "127.0.0.1:9";
  options.timeout = absl::Seconds(30);
  return options;
}

class ControlClientTest : public ::testing::Test {
 protected:
  ControlClientTest() {
    absl::StatusOr<std::unique_ptr<GrpcEndpoint>> endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {&coordinator_});
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
    absl::StatusOr<std::unique_ptr<ControlClient>> client = ControlClient::Join(OptionsOf(endpoint_->address()));
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  // Progress whose samples count the times that it was taken.
  std::function<WorkerProgress()> CountingProgress() {
    return [this] {
      WorkerProgress progress;
      progress.set_samples(++taken_);
      return progress;
    };
  }

  FakeCoordinator coordinator_;
  std::unique_ptr<GrpcEndpoint> endpoint_;
  std::unique_ptr<ControlClient> client_;
  uint64_t taken_ = 0;
};

TEST(ControlClientJoinTest, GivesUpAtItsDeadlineAndNamesTheAddress) {
  FakeCoordinator coordinator;
  std::string address;
  {
    const auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {&coordinator});
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    address = (*endpoint)->address();
  }
  ControlClient::Options options = OptionsOf(address);
  options.timeout = absl::Milliseconds(300);
  const absl::Time start = absl::Now();
  const absl::Status status = ControlClient::Join(options).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(250));
  EXPECT_LE(absl::Now() - start, absl::Seconds(10));
}

TEST(ControlClientJoinTest, NeedsARole) {
  ControlClient::Options options;
  options.coordinator = "127.0.0.1:9";
  EXPECT_TRUE(absl::IsInvalidArgument(ControlClient::Join(options).status()));
}

TEST_F(ControlClientTest, UnavailableIsTriedAgainAndOnlySoOften) {
  coordinator_.FailNext(2, grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(client_->PutValue("k", "v").ok());
  EXPECT_EQ(coordinator_.calls().size(), 3u);
  coordinator_.FailNext(100, grpc::StatusCode::UNAVAILABLE);
  const absl::Status status = client_->PutValue("k", "v");
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(endpoint_->address()));
  EXPECT_EQ(coordinator_.calls().size(), 11u);
}

TEST_F(ControlClientTest, OtherErrorsAreNotTriedAgain) {
  coordinator_.FailNext(1, grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(absl::IsAlreadyExists(client_->PutValue("k", "v")));
  EXPECT_EQ(coordinator_.calls().size(), 1u);
}

TEST_F(ControlClientTest, AHeartbeatThatWasNotAcknowledgedIsSentAgain) {
  coordinator_.FailNext(2, grpc::StatusCode::UNAVAILABLE);
  client_->StartHeartbeats(absl::Milliseconds(5), CountingProgress(), [](HeartbeatReply::Instruction, std::string) {});
  const std::vector<HeartbeatRequest> beats = coordinator_.WaitForBeats(5);
  const std::vector<uint64_t> expected = {1, 1, 1, 2, 3};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(beats[i].sequence(), expected[i]);
    EXPECT_EQ(beats[i].progress().samples(), expected[i]);
    EXPECT_EQ(beats[i].index(), 3u);
    EXPECT_EQ(beats[i].incarnation(), client_->incarnation());
  }
}

TEST_F(ControlClientTest, ASilentCoordinatorEndsTheJob) {
  coordinator_.Hang();
  std::promise<std::pair<HeartbeatReply::Instruction, std::string>> told;
  client_->StartHeartbeats(absl::Milliseconds(5), nullptr, [&](HeartbeatReply::Instruction instruction, std::string reason) {
    told.set_value({instruction, std::move(reason)});
  });
  const auto [instruction, reason] = told.get_future().get();
  EXPECT_EQ(instruction, HeartbeatReply::INSTRUCTION_ABORT);
  EXPECT_THAT(reason, HasSubstr(endpoint_->address()));
  EXPECT_THAT(reason, HasSubstr("silent"));
}

TEST_F(ControlClientTest, ARefusedHeartbeatEndsTheJob) {
  coordinator_.FailNext(1, grpc::StatusCode::FAILED_PRECONDITION);
  std::promise<HeartbeatReply::Instruction> told;
  client_->StartHeartbeats(absl::Milliseconds(5), nullptr,
                           [&](HeartbeatReply::Instruction instruction, std::string) { told.set_value(instruction); });
  EXPECT_EQ(told.get_future().get(), HeartbeatReply::INSTRUCTION_ABORT);
}

TEST_F(ControlClientTest, EndingDoesNotWaitForAHangingHeartbeat) {
  coordinator_.SetStallSeconds(30);
  absl::StatusOr<std::unique_ptr<ControlClient>> patient = ControlClient::Join(OptionsOf(endpoint_->address()));
  ASSERT_TRUE(patient.ok()) << patient.status();
  coordinator_.Hang();
  (*patient)->StartHeartbeats(absl::Milliseconds(5), nullptr,
                              [](HeartbeatReply::Instruction, const std::string& reason) { ADD_FAILURE() << reason; });
  coordinator_.hanging().get();
  const absl::Time start = absl::Now();
  *patient = nullptr;
  EXPECT_LE(absl::Now() - start, absl::Seconds(10));
}

TEST_F(ControlClientTest, LeaveMayBeCalledByTheInstruction) {
  coordinator_.FailNext(1, grpc::StatusCode::ABORTED);
  std::promise<absl::Status> left;
  client_->StartHeartbeats(absl::Milliseconds(5), nullptr,
                           [&](HeartbeatReply::Instruction, const std::string&) { left.set_value(client_->Leave({})); });
  EXPECT_TRUE(left.get_future().get().ok());
}

TEST_F(ControlClientTest, LastProgressGoesBeforeLeave) {
  client_->StartHeartbeats(absl::Hours(1), CountingProgress(), [](HeartbeatReply::Instruction, std::string) {});
  coordinator_.WaitForBeats(1);
  ASSERT_TRUE(client_->Leave({}).ok());
  const std::vector<std::string> calls = coordinator_.calls();
  ASSERT_GE(calls.size(), 2u);
  EXPECT_EQ(calls.back(), "leave");
  EXPECT_EQ(calls[calls.size() - 2], "heartbeat");
  // Whatever was taken was sent.
  EXPECT_EQ(coordinator_.WaitForBeats(2).back().progress().samples(), taken_);
}

TEST_F(ControlClientTest, AFailedRangeIsAskedForAgain) {
  ASSERT_TRUE(client_->NextRange(NextRangeRequest::SET_TRAIN).ok());
  coordinator_.FailNext(1, grpc::StatusCode::INTERNAL);
  EXPECT_FALSE(client_->NextRange(NextRangeRequest::SET_TRAIN).ok());
  ASSERT_TRUE(client_->NextRange(NextRangeRequest::SET_TRAIN).ok());
  ASSERT_TRUE(client_->NextRange(NextRangeRequest::SET_TEST).ok());
  ASSERT_TRUE(client_->NextRange(NextRangeRequest::SET_TRAIN).ok());
  EXPECT_THAT(coordinator_.range_requests(), ElementsAre(0, 1, 1, 0, 2));
}

TEST_F(ControlClientTest, LargeEvaluationsAreSplit) {
  const size_t count = 300000;
  ASSERT_TRUE(client_->ReportEvaluation(std::vector<float>(count, 0.5f), std::vector<uint8_t>(count, 1)).ok());
  ASSERT_TRUE(client_->ReportEvaluation(std::vector<float>(1, 0.5f), std::vector<uint8_t>(1, 0)).ok());
  const std::vector<std::pair<uint64_t, size_t>> reports = coordinator_.reports();
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].second + reports[1].second, count);
  for (size_t i = 0; i < reports.size(); ++i) EXPECT_EQ(reports[i].first, i);
  EXPECT_TRUE(absl::IsInvalidArgument(client_->ReportEvaluation(std::vector<float>(2), std::vector<uint8_t>(1))));
}

TEST(WireBytesTest, BothFormsAreTheSame) {
  EdgeBytes bytes;
  bytes.lookup_request = 1;
  bytes.lookup_reply = 2;
  bytes.push = 3;
  bytes.dense = 4;
  bytes.control = 5;
  const EdgeBytes back = FromWireBytes(ToWireBytes(bytes));
  EXPECT_EQ(back.lookup_request, 1u);
  EXPECT_EQ(back.lookup_reply, 2u);
  EXPECT_EQ(back.push, 3u);
  EXPECT_EQ(back.dense, 4u);
  EXPECT_EQ(back.control, 5u);
  EXPECT_EQ(ToWireBytes(bytes).dense(), 4u);
}

TEST(RendezvousKeyTest, KeysAreApart) {
  EXPECT_NE(ServerAddressKey(1), ServerAddressKey(2));
  EXPECT_NE(ServerAddressKey(1), PeerAddressKey(1));
}

}  // namespace
}  // namespace weir
