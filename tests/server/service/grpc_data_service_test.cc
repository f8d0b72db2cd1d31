// The data service over real gRPC on this machine.
#include "server/service/grpc_data_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

std::unique_ptr<DataPlane> Make(const SmallJob& job) {
  EmbeddingServerOptions options;
  options.job = job.Make();
  options.job_hash = kJobHash;
  return *DataPlane::Create(options);
}

class GrpcDataServiceTest : public testing::Test {
 protected:
  // The deadline that matters in a test; the others are only there to end it.
  static std::unique_ptr<grpc::ClientContext> Context(absl::Duration timeout = absl::Seconds(20)) {
    auto context = std::make_unique<grpc::ClientContext>();
    SetDeadline(context.get(), absl::Now() + timeout);
    return context;
  }
  grpc::Status Lookup(const LookupRequest& request, absl::Duration timeout = absl::Seconds(20)) {
    LookupReply reply;
    return stub_->Lookup(Context(timeout).get(), request, &reply);
  }
  grpc::Status Push(const PushRequest& request) {
    PushReply reply;
    return stub_->Push(Context().get(), request, &reply);
  }

  const std::unique_ptr<DataPlane> plane_ = Make(SmallJob{2, 2});
  GrpcDataService service_;
  const std::unique_ptr<GrpcEndpoint> endpoint_ = *GrpcEndpoint::Listen("127.0.0.1:0", {&service_});
  const std::unique_ptr<DataService::Stub> stub_ = DataService::NewStub(OpenChannel(endpoint_->address(), Edge::kNotCounted));
};

TEST_F(GrpcDataServiceTest, IsUnavailableWhileNothingIsAttached) {
  DescribeReply reply;
  EXPECT_EQ(stub_->Describe(Context().get(), {}, &reply).error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(Lookup(LookupOf(0, {})).error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(Push(PushOf(0)).error_code(), grpc::UNAVAILABLE);
  service_.Attach(plane_.get());
  EXPECT_TRUE(stub_->Describe(Context().get(), {}, &reply).ok());
  EXPECT_EQ(reply.job_hash(), kJobHash);
  EXPECT_EQ(reply.tables_size(), 26);
  EXPECT_EQ(reply.applied_step(), -1);
}

TEST_F(GrpcDataServiceTest, ALookupIsAnsweredWhenTheLastPushArrives) {
  service_.Attach(plane_.get());
  grpc::Status waited;
  std::thread waiting([&] { waited = Lookup(LookupOf(1, {KeysOf(0, {1})})); });
  EXPECT_TRUE(Push(PushOf(0)).ok());
  PushRequest other = PushOf(0);
  other.set_worker_rank(1);
  EXPECT_TRUE(Push(other).ok());
  waiting.join();
  EXPECT_TRUE(waited.ok()) << waited.error_message();
}

TEST_F(GrpcDataServiceTest, TheMissingRanksReachTheCallerBeforeItsDeadline) {
  service_.Attach(plane_.get());
  ASSERT_TRUE(Push(PushOf(0)).ok());
  const grpc::Status status = Lookup(LookupOf(1, {}), absl::Milliseconds(500));
  EXPECT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("step 0 still lacks pushes of worker ranks 1"));
}

TEST_F(GrpcDataServiceTest, ACancelledLookupIsLetGo) {
  service_.Attach(plane_.get());
  const std::unique_ptr<grpc::ClientContext> context = Context();
  grpc::Status status;
  std::thread waiting([&] {
    LookupReply reply;
    status = stub_->Lookup(context.get(), LookupOf(1, {}), &reply);
  });
  context->TryCancel();
  waiting.join();
  EXPECT_EQ(status.error_code(), grpc::CANCELLED);
}

TEST_F(GrpcDataServiceTest, ErrorsKeepCodeAndMessage) {
  service_.Attach(plane_.get());
  LookupRequest request = LookupOf(0, {});
  request.set_job_hash(1);
  const grpc::Status status = Lookup(request);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("job_hash"));
}

TEST_F(GrpcDataServiceTest, StopAnswersWhatWaits) {
  service_.Attach(plane_.get());
  grpc::Status status;
  std::thread waiting([&] { status = Lookup(LookupOf(1, {})); });
  plane_->Stop();
  waiting.join();
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace weir::server
