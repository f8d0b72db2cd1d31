#include "server/coordinator/checkpoints.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/checkpoint.grpc.pb.h"
#include "proto/checkpoint_folder.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

// A server that writes three bytes, or fails.
class FakeServer final : public CheckpointService::Service {
 public:
  explicit FakeServer(std::string dir) : dir_(std::move(dir)) {}

  grpc::Status FreezeShards(grpc::ServerContext*, const FreezeShardsRequest* request, FreezeShardsReply*) override {
    last_whole = request->last_whole();
    return grpc::Status::OK;
  }

  grpc::Status SaveShards(grpc::ServerContext*, const SaveShardsRequest* request, SavedShards* reply) override {
    if (full) return ToGrpc(absl::ResourceExhaustedError("No space left"));
    if (came_back) return ToGrpc(absl::FailedPreconditionError("nothing is frozen"));
    std::ofstream(UnfinishedCheckpoint(dir_, request->step()) + "/server-0.state") << "abc";
    reply->mutable_file()->set_name("server-0.state");
    reply->mutable_file()->set_bytes(3);
    return grpc::Status::OK;
  }

  bool full = false;       // set before the call
  bool came_back = false;  // likewise
  int64_t last_whole = -1;

 private:
  const std::string dir_;
};

class CheckpointsTest : public ::testing::Test {
 protected:
  CheckpointsTest()
      : dir_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        server_(dir_),
        endpoint_(GrpcEndpoint::Listen("127.0.0.1:0", {&server_}).value()) {
    std::filesystem::remove_all(dir_);
    Job job;
    job.mutable_data()->add_train(testing::WriteFile("rows", "a\nb\n"));
    job.mutable_cluster()->set_workers(2);
    job.mutable_training()->set_batch_size(2);
    job.mutable_training()->set_epochs(1);
    job.mutable_checkpoint()->set_every("1m");
    job.mutable_checkpoint()->set_keep(2);
    planner_ = RangePlanner::Open(job).value();
    Checkpoints::Options options;
    options.job = job;
    options.dir = dir_;
    options.planner = planner_.get();
    options.servers = [this] { return std::vector<std::string>{endpoint_->address()}; };
    options.server_count = [] { return 1u; };
    options.saved = [this] { ++saved_; };
    options.train_seconds = [] { return 1.5; };
    options.failed = [this](const absl::Status& status) { failed_.set_value(status); };
    checkpoints_ = std::make_unique<Checkpoints>(std::move(options), start_);
  }

  std::future<absl::Status> Save(uint32_t rank, int64_t step, bool last = true) {
    SaveCheckpointRequest request;
    request.set_worker_rank(rank);
    request.set_step(step);
    request.set_steps(step);
    request.set_samples(10);
    request.set_last(last);
    request.mutable_file()->set_name(WorkerFileName(rank));
    request.mutable_file()->set_bytes(4);
    if (rank < 2) std::ofstream(UnfinishedCheckpoint(dir_, step) + "/" + WorkerFileName(rank)) << "abcd";
    auto answer = std::make_shared<std::promise<absl::Status>>();
    checkpoints_->Save(request, [answer](const absl::Status& status) { answer->set_value(status); });
    checkpoints_->Written(rank, step);
    return answer->get_future();
  }

  const absl::Time start_ = absl::FromUnixSeconds(1000);
  const std::string dir_;
  FakeServer server_;
  std::promise<absl::Status> failed_;
  std::atomic<int> saved_{0};
  const std::unique_ptr<GrpcEndpoint> endpoint_;
  std::unique_ptr<RangePlanner> planner_;
  std::unique_ptr<Checkpoints> checkpoints_;
};

TEST_F(CheckpointsTest, TheLastWorkerMakesItWhole) {
  ASSERT_EQ(BeginCheckpoint(dir_, 7), absl::OkStatus());
  std::future<absl::Status> first = Save(0, 7);
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(Save(1, 7).get(), absl::OkStatus());
  EXPECT_EQ(first.get(), absl::OkStatus());
  const auto manifest = ReadManifest(LatestCheckpoint(dir_).value());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->step(), 7);
  EXPECT_EQ(manifest->samples(), 20);
  EXPECT_EQ(manifest->seconds(), 1.5);
  EXPECT_EQ(manifest->workers_size(), 2);
  EXPECT_EQ(manifest->servers_size(), 1);
  EXPECT_EQ(manifest->job().cluster().servers(), 1);
  EXPECT_EQ(checkpoints_->WaitUntilIdle(absl::Minutes(1)), absl::OkStatus());
  EXPECT_EQ(saved_, 1);
}

TEST_F(CheckpointsTest, AServerThatCannotSaveIsNamedAndTheOneBeforeStays) {
  ASSERT_EQ(BeginCheckpoint(dir_, 7), absl::OkStatus());
  Save(0, 7);
  ASSERT_EQ(Save(1, 7).get(), absl::OkStatus());
  server_.full = true;
  ASSERT_EQ(BeginCheckpoint(dir_, 9), absl::OkStatus());
  std::future<absl::Status> first = Save(0, 9);
  const absl::Status status = Save(1, 9).get();
  EXPECT_EQ(first.get(), status);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("server 0 at " + endpoint_->address()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(dir_ + " stay"));
  EXPECT_EQ(LatestCheckpoint(dir_).value(), dir_ + "/step-7");
}

TEST_F(CheckpointsTest, WorkersGoOnBeforeItIsSavedAndTheJobEndsWhenItCannotBe) {
  server_.full = true;
  ASSERT_EQ(BeginCheckpoint(dir_, 7), absl::OkStatus());
  Save(0, 7, false);
  EXPECT_EQ(Save(1, 7, false).get(), absl::OkStatus());
  EXPECT_THAT(std::string(failed_.get_future().get().message()), HasSubstr("No space left"));
}

TEST_F(CheckpointsTest, ItIsWholeWhenEveryWorkerHasWrittenItsFile) {
  ASSERT_EQ(BeginCheckpoint(dir_, 7), absl::OkStatus());
  const auto save = [this](uint32_t rank) {
    SaveCheckpointRequest request;
    request.set_worker_rank(rank);
    request.set_step(7);
    request.set_last(true);
    auto answer = std::make_shared<std::promise<absl::Status>>();
    checkpoints_->Save(request, [answer](const absl::Status& status) { answer->set_value(status); });
    return answer->get_future();
  };
  std::future<absl::Status> first = save(0), second = save(1);
  checkpoints_->Written(1, 7);
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  checkpoints_->Written(0, 7);
  EXPECT_EQ(first.get(), absl::OkStatus());
  EXPECT_EQ(second.get(), absl::OkStatus());
}

TEST_F(CheckpointsTest, OneThatAServerHasForgottenIsGivenUp) {
  ASSERT_EQ(BeginCheckpoint(dir_, 7), absl::OkStatus());
  Save(0, 7);
  ASSERT_EQ(Save(1, 7).get(), absl::OkStatus());
  EXPECT_EQ(server_.last_whole, 0);
  server_.came_back = true;
  ASSERT_EQ(BeginCheckpoint(dir_, 9), absl::OkStatus());
  Save(0, 9, false);
  ASSERT_EQ(Save(1, 9, false).get(), absl::OkStatus());
  // It is over when the next one is: the thread does one after the other.
  ASSERT_EQ(BeginCheckpoint(dir_, 11), absl::OkStatus());
  Save(0, 11, false);
  ASSERT_EQ(Save(1, 11, false).get(), absl::OkStatus());
  EXPECT_EQ(checkpoints_->latest(), dir_ + "/step-7");
  EXPECT_EQ(server_.last_whole, 7) << "pushes since are still needed";
}

TEST_F(CheckpointsTest, WhoAsksFirstDecidesForAll) {
  EXPECT_FALSE(checkpoints_->Due(16, start_ + absl::Seconds(59)));
  EXPECT_FALSE(checkpoints_->Due(16, start_ + absl::Seconds(61))) << "already answered";
  EXPECT_TRUE(checkpoints_->Due(32, start_ + absl::Seconds(61)));
  EXPECT_TRUE(checkpoints_->Due(32, start_ + absl::Seconds(62)));
  EXPECT_FALSE(checkpoints_->Due(48, start_ + absl::Seconds(62)));
  EXPECT_TRUE(checkpoints_->Due(64, start_ + absl::Seconds(121)));
}

TEST_F(CheckpointsTest, StrangersAreRefusedAndWaitersAreReleased) {
  ASSERT_EQ(BeginCheckpoint(dir_, 7), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(Save(2, 7).get()));
  std::future<absl::Status> early = Save(0, 7);
  std::future<absl::Status> again = Save(0, 7);
  EXPECT_TRUE(absl::IsCancelled(early.get()));
  checkpoints_->Stop();
  EXPECT_TRUE(absl::IsCancelled(again.get()));
  EXPECT_TRUE(absl::IsCancelled(Save(1, 7).get()));
}

}  // namespace
}  // namespace weir::server
