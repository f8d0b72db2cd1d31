#include "server/service/grpc_checkpoint_service.h"

#include <filesystem>
#include <string>

#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/checkpoint_folder.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kHash = 0xabc;

class GrpcCheckpointServiceTest : public ::testing::Test {
 protected:
  GrpcCheckpointServiceTest()
      : dir_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        endpoint_(GrpcEndpoint::Listen("127.0.0.1:0", {&service_}).value()),
        stub_(CheckpointService::NewStub(OpenChannel(endpoint_->address(), Edge::kNotCounted))) {
    EmbeddingServerOptions options;
    options.job = SmallJob().Make();
    options.job_hash = kHash;
    options.checkpoint_dir = dir_;
    plane_ = DataPlane::Create(options).value();
    EXPECT_EQ(BeginCheckpoint(dir_, 0), absl::OkStatus());
    EXPECT_EQ(BeginCheckpoint(dir_, 5), absl::OkStatus());
  }
  ~GrpcCheckpointServiceTest() override { service_.Attach(nullptr); }

  absl::Status Freeze(int64_t step, absl::Duration patience = absl::Seconds(20)) {
    grpc::ClientContext context;
    SetDeadline(&context, absl::Now() + patience);
    FreezeShardsRequest request;
    request.set_job_hash(kHash);
    request.set_step(step);
    FreezeShardsReply reply;
    return FromGrpc(stub_->FreezeShards(&context, request, &reply), "the server");
  }

  absl::StatusOr<SavedShards> Save(int64_t step, uint64_t hash = kHash) {
    grpc::ClientContext context;
    SetDeadline(&context, absl::Now() + absl::Seconds(20));
    SaveShardsRequest request;
    request.set_job_hash(hash);
    request.set_step(step);
    SavedShards reply;
    const absl::Status status = FromGrpc(stub_->SaveShards(&context, request, &reply), "the server");
    if (!status.ok()) return status;
    return reply;
  }

  const std::string dir_;
  GrpcCheckpointService service_;
  const std::unique_ptr<GrpcEndpoint> endpoint_;
  const std::unique_ptr<CheckpointService::Stub> stub_;
  std::unique_ptr<DataPlane> plane_;
};

TEST_F(GrpcCheckpointServiceTest, SavesIntoTheUnfinishedFolder) {
  service_.Attach(plane_.get());
  for (int again = 0; again < 2; ++again) {
    ASSERT_EQ(Freeze(0), absl::OkStatus());
    const auto saved = Save(0);
    ASSERT_TRUE(saved.ok()) << saved.status();
    EXPECT_EQ(saved->file().name(), "server-0.state");
    EXPECT_EQ(std::filesystem::file_size(UnfinishedCheckpoint(dir_, 0) + "/server-0.state"), saved->file().bytes());
    EXPECT_EQ(saved->tables_size(), 26);
  }
}

TEST_F(GrpcCheckpointServiceTest, AnswersUnavailableWhileNothingIsServed) { EXPECT_TRUE(absl::IsUnavailable(Save(0).status())); }

TEST_F(GrpcCheckpointServiceTest, AnotherJobIsRefused) {
  service_.Attach(plane_.get());
  EXPECT_TRUE(absl::IsFailedPrecondition(Save(0, kHash + 1).status()));
}

TEST_F(GrpcCheckpointServiceTest, AFolderThatIsNotThereIsNamed) {
  service_.Attach(plane_.get());
  ASSERT_EQ(Freeze(0), absl::OkStatus());
  std::filesystem::remove_all(UnfinishedCheckpoint(dir_, 0));
  EXPECT_THAT(std::string(Save(0).status().message()), HasSubstr(UnfinishedCheckpoint(dir_, 0)));
}

TEST_F(GrpcCheckpointServiceTest, WaitsForThePushesOfEarlierSteps) {
  service_.Attach(plane_.get());
  const absl::Status status = Freeze(5, absl::Milliseconds(300));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST_F(GrpcCheckpointServiceTest, OnlyWhatIsFrozenIsSaved) {
  service_.Attach(plane_.get());
  EXPECT_TRUE(absl::IsFailedPrecondition(Save(0).status()));
  ASSERT_EQ(Freeze(0), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(Save(5).status()));
  EXPECT_TRUE(Save(0).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Save(0).status())) << "once";
}

}  // namespace
}  // namespace weir::server
