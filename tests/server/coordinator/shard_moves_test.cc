#include "server/coordinator/shard_moves.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/grpc_endpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/shard_service.grpc.pb.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

// Notes what it is asked, or refuses.
class FakeServer final : public ShardService::Service {
 public:
  grpc::Status TakeShards(grpc::ServerContext*, const TakeShardsRequest* request, TakeShardsReply* reply) override {
    if (full) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "no memory");
    taken.push_back(*request);
    reply->set_rows(10);
    return grpc::Status::OK;
  }
  grpc::Status PlaceShards(grpc::ServerContext*, const PlaceShardsRequest* request, PlaceShardsReply*) override {
    placed.push_back(*request);
    return grpc::Status::OK;
  }

  bool full = false;
  std::vector<TakeShardsRequest> taken;
  std::vector<PlaceShardsRequest> placed;
};

class ShardMovesTest : public ::testing::Test {
 protected:
  ShardMovesTest() {
    for (FakeServer& server : servers_) endpoints_.push_back(GrpcEndpoint::Listen("127.0.0.1:0", {&server}).value());
    ShardMoves::Options options;
    options.job.mutable_cluster()->set_servers(2);
    options.job.mutable_cluster()->set_shards(8);
    options.job.mutable_cluster()->set_workers(2);
    options.checkpoints = true;
    options.servers = [this] {
      std::vector<std::string> addresses;
      for (size_t i = 0; i < registered_; ++i) addresses.push_back(endpoints_[i]->address());
      return addresses;
    };
    options.wait_for_checkpoints = [](absl::Duration) { return absl::OkStatus(); };
    options.done = [this](uint32_t servers) { done_.set_value(servers); };
    options.failed = [this](const absl::Status& status) { failed_.set_value(status); };
    moves_ = std::make_unique<ShardMoves>(std::move(options));
  }

  struct Answer {
    AwaitShardMapReply reply;
    std::promise<absl::Status> status;
  };
  std::shared_ptr<Answer> Await(uint32_t rank, int64_t step) {
    AwaitShardMapRequest request;
    request.set_worker_rank(rank);
    request.set_step(step);
    auto answer = std::make_shared<Answer>();
    moves_->Await(request, &answer->reply, [answer](const absl::Status& status) { answer->status.set_value(status); });
    return answer;
  }

  FakeServer servers_[4];
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints_;
  size_t registered_ = 2;
  std::promise<uint32_t> done_;
  std::promise<absl::Status> failed_;
  std::unique_ptr<ShardMoves> moves_;
};

TEST_F(ShardMovesTest, ShardsMoveOnceAllServersAndWorkersAreThere) {
  EXPECT_FALSE(moves_->Due(16)) << "nobody has asked for it";
  ASSERT_EQ(moves_->Begin(4), absl::OkStatus());
  EXPECT_FALSE(moves_->Due(32)) << "two servers have not come yet";
  registered_ = 4;
  EXPECT_FALSE(moves_->Due(32)) << "that was decided";
  int64_t step = 48;
  std::vector<uint32_t> moved;
  while (moves_->map().servers() != 4) {
    ASSERT_TRUE(moves_->Due(step));
    const auto first = Await(0, step);
    auto waits = first->status.get_future();
    EXPECT_EQ(waits.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    const auto second = Await(1, step);
    ASSERT_EQ(waits.get(), absl::OkStatus());
    ASSERT_EQ(second->status.get_future().get(), absl::OkStatus());
    EXPECT_EQ(second->reply.servers_size(), 4);
    EXPECT_TRUE(SameShardMap(first->reply.map(), second->reply.map()));
    EXPECT_TRUE(SameShardMap(second->reply.map(), moves_->map()));
    moved.push_back(servers_[3].taken.back().map().moved());
    EXPECT_EQ(servers_[3].placed.back().step(), step);
    EXPECT_EQ(second->reply.checkpoint(), moves_->map().servers() == 4);
    step += 16;
  }
  EXPECT_GT(moved.size(), 1u) << "some at a time";
  EXPECT_EQ(moved.back(), 8u);
  EXPECT_EQ(done_.get_future().get(), 4u);
  EXPECT_FALSE(moves_->Due(step));
  EXPECT_TRUE(moves_->moved_since_checkpoint());
  moves_->CheckpointSaved();
  EXPECT_FALSE(moves_->moved_since_checkpoint());
}

TEST_F(ShardMovesTest, OneChangeAtATime) {
  EXPECT_EQ(moves_->Begin(2), absl::OkStatus());
  ASSERT_EQ(moves_->Begin(3), absl::OkStatus());
  EXPECT_EQ(moves_->Begin(3), absl::OkStatus());
  const absl::Status other = moves_->Begin(4);
  EXPECT_TRUE(absl::IsFailedPrecondition(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("going over to 3 servers"));
  EXPECT_TRUE(absl::IsInvalidArgument(moves_->Begin(9)));
  EXPECT_TRUE(absl::IsInvalidArgument(moves_->Begin(0)));
}

TEST_F(ShardMovesTest, AServerThatCannotTakeThemIsNamed) {
  registered_ = 3;
  ASSERT_EQ(moves_->Begin(3), absl::OkStatus());
  servers_[2].full = true;
  ASSERT_TRUE(moves_->Due(16));
  const auto first = Await(0, 16), second = Await(1, 16);
  EXPECT_THAT(std::string(first->status.get_future().get().message()), HasSubstr("server 2 at " + endpoints_[2]->address()));
  EXPECT_THAT(std::string(failed_.get_future().get().message()), HasSubstr("no memory"));
}

TEST_F(ShardMovesTest, WhoWaitsIsAnsweredAtTheEnd) {
  const auto waiting = Await(0, 16);
  EXPECT_TRUE(absl::IsInvalidArgument(Await(2, 16)->status.get_future().get()));
  moves_->Stop();
  EXPECT_TRUE(absl::IsCancelled(waiting->status.get_future().get()));
  EXPECT_TRUE(absl::IsCancelled(Await(1, 16)->status.get_future().get()));
}

}  // namespace
}  // namespace weir::server
