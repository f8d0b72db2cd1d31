// Reading a shard map. Every process of a job must agree on who owns what: pure functions of the message.
#ifndef WEIR_PROTO_SHARD_MAP_H_
#define WEIR_PROTO_SHARD_MAP_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/key.h"
#include "proto/shard_map.pb.h"

namespace weir {

ShardMap MakeShardMap(uint32_t shard_count, uint32_t servers);

// The server that owns a shard. REQUIRES: CheckShardMap; shard < map.shard_count().
uint32_t OwnerOf(const ShardMap& map, uint32_t shard);

// The same of a key of a table.
uint32_t OwnerOf(const ShardMap& map, uint32_t table, Key key);

// How many servers are asked: also those that do not own shards yet, or any more.
uint32_t ServersOf(const ShardMap& map);

bool SameShardMap(const ShardMap& a, const ShardMap& b);

// "64 shards on 2 servers, 12 of them moved to 4".
std::string ToString(const ShardMap& map);

// INVALID_ARGUMENT, naming the field: limits of base/limits.h, more servers than shards, more shards moved than there are.
absl::Status CheckShardMap(const ShardMap& map);

}  // namespace weir

#endif  // WEIR_PROTO_SHARD_MAP_H_
