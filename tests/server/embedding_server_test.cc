#include "server/embedding_server.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/limits.h"
#include "proto/data_service.grpc.pb.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

struct Served {
  Served(uint32_t index, uint32_t count) {
    EmbeddingServerOptions options;
    options.job = SmallJob{}.Make();
    options.job_hash = kJobHash;
    options.server_index = index;
    options.shard_map = MakeShardMap(options.job.cluster().shards(), count);
    EXPECT_TRUE(server.Start(options).ok());
  }
  // The keys 0 to 99 of table 0 that live here.
  void PushOwnKeys(uint32_t index, uint32_t count) {
    std::vector<Key> keys;
    for (Key key = 0; key < 100; ++key) {
      if (ServerOfShard(ShardOfKey(0, key, 8), 8, count) == index) keys.push_back(key);
    }
    PushRequest push = PushOf(0);
    *push.add_tables() = GradientsOf(KeysOf(0, keys), std::vector<float>(keys.size() * 2, 1.0f));
    grpc::ClientContext context;
    SetDeadline(&context, absl::Now() + absl::Seconds(20));
    PushReply reply;
    const grpc::Status status = stub->Push(&context, push, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  EmbeddingServer server;
  const std::unique_ptr<GrpcEndpoint> endpoint = *GrpcEndpoint::Listen("127.0.0.1:0", {server.service()});
  const std::unique_ptr<DataService::Stub> stub = DataService::NewStub(OpenChannel(endpoint->address(), Edge::kNotCounted));
};

TEST(EmbeddingServerTest, FingerprintsOfServersAddUp) {
  Served whole(0, 1), left(0, 2), right(1, 2);
  whole.PushOwnKeys(0, 1);
  left.PushOwnKeys(0, 2);
  right.PushOwnKeys(1, 2);
  EXPECT_EQ(whole.server.rows(), 100u);
  EXPECT_EQ(left.server.rows() + right.server.rows(), 100u);
  EXPECT_GT(left.server.rows(), 0u);
  EXPECT_EQ(left.server.Fingerprint() + right.server.Fingerprint(), whole.server.Fingerprint());
  const DescribeReply described = right.server.Describe();
  EXPECT_EQ(described.server_index(), 1u);
  EXPECT_TRUE(SameShardMap(described.shard_map(), MakeShardMap(8, 2))) << described.shard_map().DebugString();
  EXPECT_EQ(described.protocol_version(), kProtocolVersion);
  EXPECT_EQ(described.fingerprint(), right.server.Fingerprint());
  EXPECT_EQ(described.tables(0).rows(), right.server.rows());
  EXPECT_GT(described.tables(0).bytes(), right.server.rows() * 2 * sizeof(float));
}

TEST(EmbeddingServerTest, RefusesAJobThatItCannotServe) {
  EmbeddingServerOptions options;
  options.job = SmallJob{}.Make();
  options.job.mutable_cluster()->set_workers(0);
  EXPECT_EQ(EmbeddingServer().Start(options).code(), absl::StatusCode::kInvalidArgument);
  options.job = SmallJob{}.Make();
  options.job.mutable_training()->clear_gradient_scale();
  EXPECT_EQ(EmbeddingServer().Start(options).code(), absl::StatusCode::kInvalidArgument);
  options.job = SmallJob{}.Make();
  options.job.mutable_cluster()->set_call_timeout_seconds(0);
  EXPECT_EQ(EmbeddingServer().Start(options).code(), absl::StatusCode::kInvalidArgument);
}

TEST(EmbeddingServerTest, StopsTwiceAndWithoutAStart) {
  EmbeddingServer never_started;
  never_started.Stop();
  Served served(0, 1);
  served.server.Stop();
  served.server.Stop();
  grpc::ClientContext context;
  SetDeadline(&context, absl::Now() + absl::Seconds(20));
  DescribeReply reply;
  EXPECT_EQ(served.stub->Describe(&context, {}, &reply).error_code(), grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace weir::server
