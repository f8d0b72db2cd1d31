#include "server/service/grpc_shard_service.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kJobHash = 7;

// Two servers of a job, and one that is new in it.
class ShardServiceTest : public ::testing::Test {
 protected:
  ShardServiceTest() {
    for (uint32_t index = 0; index < 3; ++index) {
      EmbeddingServerOptions options;
      options.job = SmallJob{}.Make();
      options.job_hash = kJobHash;
      options.server_index = index;
      options.shard_map = MakeShardMap(options.job.cluster().shards(), 2);
      planes_.push_back(*DataPlane::Create(options));
      services_.push_back(std::make_unique<GrpcShardService>());
      services_.back()->Attach(planes_.back().get());
      endpoints_.push_back(GrpcEndpoint::Listen("127.0.0.1:0", {services_.back().get()}).value());
    }
    request_.set_job_hash(kJobHash);
    *request_.mutable_map() = planes_[0]->shard_map();
    request_.mutable_map()->set_next_servers(3);
    request_.mutable_map()->set_moved(request_.map().shard_count());
    for (const auto& endpoint : endpoints_) request_.add_servers(endpoint->address());
  }
  ~ShardServiceTest() override {
    for (const auto& service : services_) service->Attach(nullptr);
  }
  Table& TableOf(size_t server) { return planes_[server]->tables().at(0); }
  uint64_t Fingerprint() {
    uint64_t sum = 0;
    for (const auto& plane : planes_) sum += plane->tables().Fingerprint();
    return sum;
  }

  std::vector<std::unique_ptr<DataPlane>> planes_;
  std::vector<std::unique_ptr<GrpcShardService>> services_;
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints_;
  TakeShardsRequest request_;
};

TEST_F(ShardServiceTest, RowsGoWithTheirShards) {
  const ShardMap before = planes_[0]->shard_map();
  for (Key key = 0; key < 300; ++key) {
    const std::vector<float> gradient(TableOf(0).dim(), static_cast<float>(key));
    TableOf(OwnerOf(before, 0, key)).Apply({key}, gradient, {1});
  }
  const uint64_t fingerprint = Fingerprint();
  uint64_t rows = 0;
  for (const auto& plane : planes_) {
    const auto taken = TakeShards(request_, absl::Now() + absl::Minutes(1), plane.get());
    ASSERT_TRUE(taken.ok()) << taken.status();
    rows += *taken;
  }
  EXPECT_GT(rows, 100u);
  const ShardMap after = MakeShardMap(before.shard_count(), 3);
  for (const auto& plane : planes_) plane->DropShards(after, 0);
  EXPECT_EQ(Fingerprint(), fingerprint);
  for (Key key = 0; key < 300; ++key) {
    for (size_t server = 0; server < 3; ++server) EXPECT_EQ(TableOf(server).CheckOwned({key}).ok(), server == OwnerOf(after, 0, key));
  }
}

TEST_F(ShardServiceTest, WhatIsWrongIsRefused) {
  const auto take = [this] { return TakeShards(request_, absl::Now() + absl::Minutes(1), planes_[2].get()).status(); };
  request_.set_job_hash(8);
  EXPECT_TRUE(absl::IsFailedPrecondition(take()));
  request_.set_job_hash(kJobHash);
  request_.mutable_map()->set_shard_count(5);
  request_.mutable_map()->set_moved(5);
  EXPECT_THAT(std::string(take().message()), HasSubstr("this job has 8 shards"));
  *request_.mutable_map() = MakeShardMap(8, 3);
  request_.clear_servers();
  EXPECT_THAT(std::string(take().message()), HasSubstr("no address of server"));
}

}  // namespace
}  // namespace weir::server
