#include "server/coordinator/coordinator.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/server/coordinator/event_file.h"
#include "tests/server/coordinator/simulated_job.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest() : job_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {}

  WaitingCall Call(absl::Duration timeout) {
    return {job_.now + timeout, [this](const absl::Status& status) { answered_.push_back(status); }};
  }
  void Barrier(uint32_t rank) {
    BarrierRequest request;
    request.set_name("trained");
    request.set_worker_rank(rank);
    job_.coordinator->Barrier(request, Call(absl::Seconds(5)));
  }
  void GetValue(const std::string& key) {
    GetValuesRequest request;
    request.add_keys(key);
    job_.coordinator->GetValues(request, &values_, Call(absl::Seconds(5)));
  }
  absl::Status PutValue(const std::string& key) {
    PutValueRequest request;
    request.set_key(key);
    request.set_value("v");
    return job_.coordinator->PutValue(request);
  }
  void LeaveAll() {
    for (uint32_t rank : {0u, 1u}) ASSERT_TRUE(job_.Leave(job_.LeaveOf(ROLE_WORKER, rank)).ok());
    for (uint32_t index : {0u, 1u}) ASSERT_TRUE(job_.Leave(job_.LeaveOf(ROLE_SERVER, index)).ok());
  }
  std::vector<Json> MetricsLines() {
    std::istringstream file(testing::ReadWholeFile(job_.dir + "/metrics.jsonl"));
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  Json Result() { return Json::parse(testing::ReadWholeFile(job_.dir + "/result.json")); }
  void ExpectFailed(const std::string& reason) {
    const StatusReply status = job_.GetStatus();
    EXPECT_EQ(status.state(), StatusReply::STATE_FAILED);
    EXPECT_THAT(status.reason(), HasSubstr(reason));
  }

  testing::SimulatedJob job_;
  std::vector<absl::Status> answered_;
  GetValuesReply values_;
};

TEST_F(CoordinatorTest, AJobFromStartToResult) {
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_STARTING);
  EXPECT_EQ(job_.GetStatus().reason(), "0 of 2 servers and 0 of 2 workers have registered");
  job_.RegisterAll();
  ASSERT_TRUE(job_.AskRange(0, NextRangeRequest::SET_TRAIN).ok());
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_TRAINING);
  job_.Advance(absl::Seconds(1));
  EXPECT_EQ(job_.Beat(job_.TrainBeatOf(0, 100, 0.5)).instruction(), HeartbeatReply::INSTRUCTION_GO_ON);
  job_.Beat(job_.TrainBeatOf(1, 100, 0.7));
  const StatusReply training = job_.GetStatus();
  EXPECT_EQ(training.samples(), 200u);
  EXPECT_DOUBLE_EQ(training.seconds(), 1);
  EXPECT_NEAR(training.logloss(), 0.6, 1e-12);
  EXPECT_DOUBLE_EQ(training.auc(), 0.5);
  EXPECT_EQ(training.wire_bytes().push(), 2000u);

  job_.control_bytes = 10;
  ASSERT_TRUE(job_.AskRange(0, NextRangeRequest::SET_TEST).ok());
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_EVALUATING);
  job_.control_bytes = 14;
  for (uint32_t rank : {0u, 1u}) ASSERT_TRUE(job_.Report(rank, 0).ok());
  EXPECT_EQ(job_.GetStatus().evaluated(), 4u);
  EXPECT_EQ(job_.Beat(ROLE_SERVER, 0).instruction(), HeartbeatReply::INSTRUCTION_GO_ON);
  for (uint32_t rank : {0u, 1u}) ASSERT_TRUE(job_.Leave(job_.LeaveOf(ROLE_WORKER, rank)).ok());
  job_.Tick();
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_EVALUATING);
  for (uint32_t index : {0u, 1u}) {
    EXPECT_EQ(job_.Beat(ROLE_SERVER, index).instruction(), HeartbeatReply::INSTRUCTION_LEAVE);
    ASSERT_TRUE(job_.Leave(job_.LeaveOf(ROLE_SERVER, index)).ok());
  }
  EXPECT_FALSE(job_.coordinator->ending(job_.now).has_value());
  job_.Tick();

  const Json expected = {{"job", "small"},
                         {"job_hash", "0000000000000abc"},
                         {"logloss", -std::log(0.75)},
                         {"auc", 1.0},
                         {"ne", std::log(0.75) / std::log(0.5)},
                         {"calibration", 1.0},
                         {"ctr", 0.5},
                         {"evaluation_samples", 4},
                         {"samples", 200},
                         {"steps", 2},
                         {"seconds", 4.0},
                         {"samples_per_second", 50.0},
                         {"wire_bytes", {{"lookup_request", 22}, {"lookup_reply", 44}, {"push", 2000}, {"dense", 88}, {"control", 14}}},
                         {"wire_bytes_evaluation", {{"lookup_request", 0}, {"lookup_reply", 4}, {"push", 0}, {"dense", 0}, {"control", 4}}},
                         {"fingerprint", {{"rows", "0000000000000002"}, {"dense", "000000000000000d"}}},
                         {"rows_held", 81},
                         {"bad_rows", 2},
                         {"wait_seconds", 1.0},
                         {"workers", 2},
                         {"servers", 2}};
  Json result = Result();
  result.erase("account");
  result.erase("step_seconds");
  result.erase("step_waits");
  for (const char* field : {"logloss", "ne"}) {
    EXPECT_NEAR(result[field].get<double>(), expected[field].get<double>(), 1e-9) << field;
    result[field] = expected[field];
  }
  EXPECT_EQ(result, expected);

  // The last line tells of training alone, and leaves out what evaluation sent.
  const std::vector<Json> lines = MetricsLines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["seconds"], 1.0);
  EXPECT_NEAR(lines[0]["logloss"].get<double>(), 0.6, 1e-12);
  EXPECT_EQ(lines[0]["wire_bytes"]["lookup_reply"], 40);
  EXPECT_EQ(lines[0]["wire_bytes"]["control"], 10);

  std::optional<Coordinator::Ending> ending = job_.coordinator->ending(job_.now);
  ASSERT_TRUE(ending.has_value());
  EXPECT_TRUE(ending->status.ok());
  EXPECT_FALSE(ending->heard);
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_DONE);
  EXPECT_TRUE(job_.coordinator->ending(job_.now)->heard);
}

TEST_F(CoordinatorTest, NobodyWhoAsksIsWaitedForOnlySoLong) {
  job_.RegisterAll();
  LeaveAll();
  job_.Tick();
  EXPECT_FALSE(job_.coordinator->ending(job_.now + kFarewell - absl::Milliseconds(1))->heard);
  EXPECT_TRUE(job_.coordinator->ending(job_.now + kFarewell)->heard);
}

TEST_F(CoordinatorTest, EveryMemberGetsTheJob) {
  const auto reply = job_.Register(ROLE_SERVER, 100);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->job_hash(), 0xabcu);
  Job job;
  ASSERT_TRUE(job.ParseFromString(reply->job()));
  EXPECT_EQ(job.name(), "small");
}

TEST_F(CoordinatorTest, TrainingWaitsForEverybody) {
  ASSERT_TRUE(job_.Register(ROLE_WORKER, 200).ok());
  ASSERT_TRUE(job_.AskRange(0, NextRangeRequest::SET_TRAIN).ok());
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_STARTING);
  EXPECT_TRUE(absl::IsInvalidArgument(job_.AskRange(1, NextRangeRequest::SET_TRAIN)));
}

TEST_F(CoordinatorTest, ASilentMemberFailsTheJob) {
  job_.RegisterAll();
  job_.Advance(absl::Seconds(9));
  job_.Beat(ROLE_SERVER, 0);
  job_.Beat(ROLE_WORKER, 0);
  job_.Beat(ROLE_WORKER, 1);
  job_.Tick();
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_STARTING);
  job_.Advance(absl::Seconds(1.5));
  job_.Tick();
  ExpectFailed("server 1 at 127.0.0.1:4101 (pid 101) has been silent for 10.5s");
  const HeartbeatReply reply = job_.Beat(ROLE_WORKER, 0);
  EXPECT_EQ(reply.instruction(), HeartbeatReply::INSTRUCTION_ABORT);
  EXPECT_THAT(reply.reason(), HasSubstr("server 1"));
  EXPECT_FALSE(std::filesystem::exists(job_.dir + "/result.json"));
}

TEST_F(CoordinatorTest, AMemberThatLeftMayBeSilent) {
  job_.RegisterAll();
  ASSERT_TRUE(job_.Leave(job_.LeaveOf(ROLE_WORKER, 0)).ok());
  job_.Advance(absl::Seconds(11));
  job_.Beat(ROLE_SERVER, 0);
  job_.Beat(ROLE_SERVER, 1);
  job_.Beat(ROLE_WORKER, 1);
  job_.Tick();
  EXPECT_NE(job_.GetStatus().state(), StatusReply::STATE_FAILED);
}

TEST_F(CoordinatorTest, FailureReachesEverybody) {
  job_.RegisterAll();
  Barrier(0);
  GetValue("never");
  job_.coordinator->Fail("worker 1: out of luck", job_.now);
  job_.coordinator->Fail("a later reason", job_.now);
  const std::string reason = "worker 1: out of luck";
  ASSERT_EQ(answered_.size(), 2u);
  std::vector<absl::Status> answers = answered_;
  answers.push_back(job_.Register(ROLE_SERVER, 300).status());
  answers.push_back(PutValue("key"));
  answers.push_back(job_.AskRange(0, NextRangeRequest::SET_TRAIN));
  answers.push_back(job_.Report(0, 0));
  answers.push_back(job_.Leave(job_.LeaveOf(ROLE_WORKER, 0)));
  GetValue("never");
  Barrier(1);
  answers.insert(answers.end(), answered_.begin() + 2, answered_.end());
  ASSERT_EQ(answers.size(), 9u);
  for (const absl::Status& answer : answers) {
    EXPECT_TRUE(absl::IsAborted(answer)) << answer;
    EXPECT_THAT(std::string(answer.message()), HasSubstr(reason));
  }
  ExpectFailed(reason);
  // Worker 0 has left; the three others have not heard yet.
  EXPECT_FALSE(job_.coordinator->ending(job_.now)->heard);
  for (uint32_t index : {0u, 1u}) EXPECT_EQ(job_.Beat(ROLE_SERVER, index).instruction(), HeartbeatReply::INSTRUCTION_ABORT);
  EXPECT_FALSE(job_.coordinator->ending(job_.now)->heard);
  EXPECT_EQ(job_.Beat(ROLE_WORKER, 1).instruction(), HeartbeatReply::INSTRUCTION_ABORT);
  EXPECT_TRUE(job_.coordinator->ending(job_.now)->heard);
  EXPECT_THAT(std::string(job_.coordinator->ending(job_.now)->status.message()), HasSubstr(reason));
}

TEST_F(CoordinatorTest, DeadlinesNameWhatIsMissing) {
  job_.RegisterAll();
  Barrier(0);
  GetValue("server/1/address");
  job_.Advance(absl::Seconds(4.9));
  job_.Tick();
  EXPECT_TRUE(answered_.empty());
  job_.Advance(absl::Seconds(0.1));
  job_.Tick();
  ASSERT_EQ(answered_.size(), 2u);
  for (const absl::Status& status : answered_) EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(std::string(answered_[0].message()), HasSubstr("server/1/address"));
  EXPECT_THAT(std::string(answered_[1].message()), HasSubstr("waits for worker 1"));
}

TEST_F(CoordinatorTest, WaitersAreReleasedByEvents) {
  job_.RegisterAll();
  Barrier(0);
  GetValue("key");
  ASSERT_TRUE(PutValue("key").ok());
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_EQ(values_.values(0), "v");
  Barrier(1);
  EXPECT_EQ(answered_.size(), 3u);
  Barrier(2);
  EXPECT_TRUE(absl::IsInvalidArgument(answered_.back()));
}

TEST_F(CoordinatorTest, ARetriedHeartbeatCountsOnce) {
  job_.RegisterAll();
  const HeartbeatRequest first = job_.TrainBeatOf(0, 100, 1);
  job_.Beat(first);
  job_.Beat(first);
  job_.Beat(job_.TrainBeatOf(1, 100, 2));
  EXPECT_DOUBLE_EQ(job_.GetStatus().logloss(), 1.5);
}

TEST_F(CoordinatorTest, ARetriedReportCountsOnce) {
  job_.RegisterAll();
  for (int tries = 0; tries < 2; ++tries) ASSERT_TRUE(job_.Report(0, 0).ok());
  EXPECT_EQ(job_.GetStatus().evaluated(), 2u);
}

TEST_F(CoordinatorTest, ARetriedLeaveCountsOnce) {
  job_.RegisterAll();
  LeaveAll();
  LeaveAll();
  job_.Tick();
  EXPECT_EQ(Result()["rows_held"], 81);
}

TEST_F(CoordinatorTest, AnotherIncarnationIsRefused) {
  job_.RegisterAll();
  HeartbeatRequest beat = job_.BeatOf(ROLE_WORKER, 0);
  beat.set_incarnation(999);
  EXPECT_TRUE(absl::IsFailedPrecondition(job_.coordinator->Heartbeat(beat, job_.now).status()));
  LeaveRequest leave = job_.LeaveOf(ROLE_WORKER, 0);
  leave.set_incarnation(999);
  EXPECT_TRUE(absl::IsFailedPrecondition(job_.Leave(leave)));
}

TEST_F(CoordinatorTest, AServerMayNotLeaveEarly) {
  job_.RegisterAll();
  ASSERT_TRUE(job_.Leave(job_.LeaveOf(ROLE_WORKER, 0)).ok());
  EXPECT_TRUE(absl::IsAborted(job_.Leave(job_.LeaveOf(ROLE_SERVER, 1))));
  ExpectFailed("server 1 at 127.0.0.1:4101 (pid 101) left");
}

TEST_F(CoordinatorTest, WorkersMustEndWithTheSameDenseParameters) {
  job_.RegisterAll();
  ASSERT_TRUE(job_.Leave(job_.LeaveOf(ROLE_WORKER, 1)).ok());
  LeaveRequest other = job_.LeaveOf(ROLE_WORKER, 0);
  other.set_fingerprint(0xe);
  EXPECT_TRUE(absl::IsAborted(job_.Leave(other)));
  ExpectFailed("the dense parameters of worker 0 (fingerprint 000000000000000e) differ from those of worker 1 (000000000000000d)");
}

TEST_F(CoordinatorTest, AJobThatNeverStartsFails) {
  ASSERT_TRUE(job_.Register(ROLE_SERVER, 100).ok());
  for (int i = 0; i < 120; ++i) {
    job_.Advance(absl::Seconds(5));
    job_.Beat(ROLE_SERVER, 0);
    if (i < 119) {
      job_.Tick();
      ASSERT_EQ(job_.GetStatus().state(), StatusReply::STATE_STARTING);
    }
  }
  job_.Tick();
  ExpectFailed("1 of 2 servers and 0 of 2 workers have registered");
}

TEST_F(CoordinatorTest, MetricsLinesFollowTheClock) {
  job_.RegisterAll();
  ASSERT_TRUE(job_.AskRange(0, NextRangeRequest::SET_TRAIN).ok());
  job_.Advance(absl::Seconds(2));
  job_.Tick();
  EXPECT_TRUE(MetricsLines().empty());  // nothing was trained yet
  job_.Beat(job_.TrainBeatOf(0, 100, 0.5));
  job_.Advance(absl::Seconds(1));
  job_.Tick();
  ASSERT_EQ(MetricsLines().size(), 1u);
  EXPECT_EQ(MetricsLines()[0]["seconds"], 3.0);
  EXPECT_NEAR(MetricsLines()[0]["samples_per_second"].get<double>(), 100 / 3.0, 1e-9);
  job_.Beat(job_.TrainBeatOf(0, 300, 0.25));
  job_.Advance(absl::Seconds(1.9));
  job_.Tick();
  EXPECT_EQ(MetricsLines().size(), 1u);
  job_.Advance(absl::Seconds(0.1));
  job_.Tick();
  ASSERT_EQ(MetricsLines().size(), 2u);
  EXPECT_EQ(MetricsLines()[1]["logloss"], 0.25);
  EXPECT_EQ(MetricsLines()[1]["samples"], 300);
  EXPECT_NEAR(MetricsLines()[1]["samples_per_second"].get<double>(), 150, 1e-9);
}

TEST_F(CoordinatorTest, ALateWindowIsNoBurstOfSpeed) {
  job_.RegisterAll();
  ASSERT_TRUE(job_.AskRange(0, NextRangeRequest::SET_TRAIN).ok());
  job_.Advance(absl::Seconds(2));
  job_.Beat(job_.TrainBeatOf(0, 100, 0.5));
  job_.Tick();
  // Training ends 0.1 s after that line, and its last 0.5 s are told of later.
  job_.Advance(absl::Seconds(0.1));
  ASSERT_TRUE(job_.AskRange(0, NextRangeRequest::SET_TEST).ok());
  job_.Advance(absl::Seconds(0.4));
  job_.Beat(job_.TrainBeatOf(0, 50, 0.5));
  LeaveAll();
  job_.Tick();
  ASSERT_EQ(MetricsLines().size(), 2u);
  EXPECT_NEAR(MetricsLines()[1]["seconds"].get<double>(), 2.1, 1e-9);
  EXPECT_NEAR(MetricsLines()[1]["samples_per_second"].get<double>(), 100, 1e-6);
}

TEST_F(CoordinatorTest, ARunFolderThatCannotBeWrittenFailsTheJob) {
  job_.RegisterAll();
  LeaveAll();
  std::filesystem::remove_all(job_.dir);
  job_.Tick();
  ExpectFailed(job_.dir + "/result.json");
}

TEST_F(CoordinatorTest, TotalSamplesKnowsOfStepsMax) {
  EXPECT_EQ(job_.GetStatus().total_samples(), 3000u);
  job_.train_rows = 1000;
  EXPECT_EQ(job_.GetStatus().total_samples(), 1000u);
  job_.train_rows = 5000;
  EXPECT_EQ(job_.GetStatus().total_samples(), 3000u);
}

TEST_F(CoordinatorTest, AJobThatIsDoneStaysDone) {
  job_.RegisterAll();
  ASSERT_TRUE(job_.Report(0, 0).ok());
  GetValue("never");
  LeaveAll();
  job_.Tick();
  ASSERT_EQ(answered_.size(), 1u);  // nothing waits for a job that is over
  EXPECT_TRUE(absl::IsAborted(answered_[0]));
  EXPECT_EQ(job_.GetStatus().evaluated(), 2u);
  job_.coordinator->Fail("too late", job_.now);
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_DONE);
}

// Calls from many threads, without gRPC in between, so that ThreadSanitizer sees all of them.
TEST_F(CoordinatorTest, CallsMayComeFromManyThreads) {
  constexpr int kBeats = 50;
  job_.RegisterAll();
  ASSERT_TRUE(job_.AskRange(0, NextRangeRequest::SET_TRAIN).ok());
  std::vector<HeartbeatRequest> beats[2];
  for (uint32_t rank : {0u, 1u}) {
    for (int i = 0; i < kBeats; ++i) beats[rank].push_back(job_.TrainBeatOf(rank, 10, 0.5));
  }
  const absl::Time now = job_.now + absl::Seconds(1);
  Coordinator* const coordinator = job_.coordinator.get();
  std::atomic<int> released{0};
  std::vector<GetValuesReply> replies(kBeats);
  std::vector<std::thread> threads;
  for (uint32_t rank : {0u, 1u}) {
    threads.emplace_back([&, rank] {
      for (int i = 0; i < kBeats; ++i) {
        EXPECT_TRUE(coordinator->Heartbeat(beats[rank][i], now).ok());
        BarrierRequest barrier;
        barrier.set_name(std::to_string(i));
        barrier.set_worker_rank(rank);
        coordinator->Barrier(barrier, {now + absl::Hours(1), [&](const absl::Status&) { ++released; }});
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < kBeats; ++i) {
      GetValuesRequest get;
      get.add_keys(std::to_string(i));
      coordinator->GetValues(get, &replies[i], {now + absl::Hours(1), [&](const absl::Status&) { ++released; }});
    }
  });
  threads.emplace_back([&] {
    for (int i = 0; i < kBeats; ++i) {
      PutValueRequest put;
      put.set_key(std::to_string(i));
      EXPECT_TRUE(coordinator->PutValue(put).ok());
      coordinator->Tick(now + absl::Seconds(i % 3));
      coordinator->GetStatus(now);
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(released.load(), 3 * kBeats);
  EXPECT_EQ(job_.GetStatus().state(), StatusReply::STATE_TRAINING);
  EXPECT_DOUBLE_EQ(job_.GetStatus().logloss(), 0.5);
}

}  // namespace
}  // namespace weir::server
