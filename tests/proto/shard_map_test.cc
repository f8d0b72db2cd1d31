#include "proto/shard_map.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(ShardMapTest, ServersOwnContiguousShardsOfEqualNumber) {
  for (const uint32_t shards : {5u, 8u, 256u}) {
    for (uint32_t servers = 1; servers <= 5; ++servers) {
      const ShardMap map = MakeShardMap(shards, servers);
      ASSERT_TRUE(CheckShardMap(map).ok());
      std::vector<uint32_t> owned(servers);
      uint32_t last = 0;
      for (uint32_t shard = 0; shard < shards; ++shard) {
        EXPECT_GE(OwnerOf(map, shard), last);
        last = OwnerOf(map, shard);
        ++owned.at(last);
      }
      for (const uint32_t count : owned) EXPECT_NEAR(count, static_cast<double>(shards) / servers, 1);
    }
  }
}

TEST(ShardMapTest, ShardsMoveInOrderAndEachOnce) {
  for (const auto& [from, to] : {std::pair(2u, 4u), std::pair(4u, 1u), std::pair(3u, 5u)}) {
    ShardMap map = MakeShardMap(64, from);
    map.set_next_servers(to);
    EXPECT_EQ(ServersOf(map), std::max(from, to));
    for (uint32_t moved = 0; moved <= 64; ++moved) {
      map.set_moved(moved);
      ASSERT_TRUE(CheckShardMap(map).ok());
      for (uint32_t shard = 0; shard < 64; ++shard) {
        EXPECT_EQ(OwnerOf(map, shard), OwnerOf(MakeShardMap(64, shard < moved ? to : from), shard));
      }
    }
  }
}

TEST(ShardMapTest, KeysGoWithTheirShard) {
  const ShardMap map = MakeShardMap(256, 8);
  for (Key key = 0; key < 1000; ++key) EXPECT_EQ(OwnerOf(map, 3, key), OwnerOf(map, ShardOfKey(3, key, 256)));
}

TEST(ShardMapTest, WhatIsWrongIsNamed) {
  const auto error = [](uint32_t shards, uint32_t servers, uint32_t next, uint32_t moved) {
    ShardMap map = MakeShardMap(shards, servers);
    map.set_next_servers(next);
    map.set_moved(moved);
    const absl::Status status = CheckShardMap(map);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  EXPECT_THAT(error(0, 1, 0, 0), HasSubstr("shard_count is 0"));
  EXPECT_THAT(error(kShardsMax + 1, 1, 0, 0), HasSubstr("shard_count is"));
  EXPECT_THAT(error(8, 0, 0, 0), HasSubstr("servers is 0"));
  EXPECT_THAT(error(8, 9, 0, 0), HasSubstr("servers is 9, it must be 1 to 8"));
  EXPECT_THAT(error(8, 2, 9, 0), HasSubstr("next_servers is 9"));
  EXPECT_THAT(error(8, 2, 0, 1), HasSubstr("moved is 1"));
  EXPECT_THAT(error(8, 2, 4, 9), HasSubstr("moved is 9"));
  EXPECT_THAT(error(8, 2, 4, 9), HasSubstr("8 shards on 2 servers, 9 of them moved to 4"));
}

}  // namespace
}  // namespace weir
