#include "base/key.h"

#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

// Golden: rows written by one version must be found by every later one.
TEST(KeyTest, ShardsNeverChange) {
  EXPECT_EQ(Mix64(0), 0u);
  EXPECT_EQ(Mix64(1), 6238072747940578789u);
  const std::vector<uint32_t> golden = {217, 238, 161, 93, 63, 173, 119, 75, 252, 65, 44, 139};
  std::vector<uint32_t> shards;
  for (const Key key : {Key{0}, Key{1}, Key{2}, ~Key{0}, Key{1} << 63, Key{123456789}}) {
    shards.push_back(ShardOfKey(0, key, 256));
    shards.push_back(ShardOfKey(25, key, 256));
  }
  EXPECT_EQ(shards, golden);
}

TEST(KeyTest, DividingByMultiplicationIsExact) {
  for (const uint32_t count : {1u, 2u, 3u, 255u, 256u, 257u, 1000003u, ~0u}) {
    const ShardDivider divider(count);
    const uint64_t near = ~uint64_t{0} / count * count;
    for (const uint64_t hash : {uint64_t{0}, uint64_t{1}, uint64_t{count}, uint64_t{count} - 1, near, near - 1, ~uint64_t{0}}) {
      EXPECT_EQ(divider.ShardOf(hash), hash % count) << hash << " of " << count;
    }
    for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(divider.ShardOf(Mix64(i)), Mix64(i) % count);
  }
}

TEST(KeyTest, ShardsAreEven) {
  std::vector<int> keys_in_shard(256);
  for (Key key = 0; key < 256 * 1000; ++key) ++keys_in_shard[ShardOfKey(3, key, 256)];
  for (const int count : keys_in_shard) {
    EXPECT_GT(count, 800);
    EXPECT_LT(count, 1200);
  }
}

TEST(KeyTest, ServersOwnContiguousShardsEvenly) {
  for (uint32_t servers = 1; servers <= 7; ++servers) {
    std::vector<int> shards_of_server(servers);
    uint32_t last = 0;
    for (uint32_t shard = 0; shard < 256; ++shard) {
      const uint32_t server = ServerOfShard(shard, 256, servers);
      ASSERT_LT(server, servers);
      ASSERT_GE(server, last);
      last = server;
      ++shards_of_server[server];
    }
    for (const int count : shards_of_server) EXPECT_NEAR(count, 256.0 / servers, 1);
  }
}

TEST(KeyTest, KeyedUniformIsUniform) {
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = KeyedUniform(Mix64(7, i / 16), i % 16);
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.005);
}

}  // namespace
}  // namespace weir
