#include "proto/shard_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace weir {

ShardMap MakeShardMap(uint32_t shard_count, uint32_t servers) {
  ShardMap map;
  map.set_shard_count(shard_count);
  map.set_servers(servers);
  return map;
}

uint32_t OwnerOf(const ShardMap& map, uint32_t shard) {
  return ServerOfShard(shard, map.shard_count(), shard < map.moved() ? map.next_servers() : map.servers());
}

uint32_t OwnerOf(const ShardMap& map, uint32_t table, Key key) { return OwnerOf(map, ShardOfKey(table, key, map.shard_count())); }

uint32_t ServersOf(const ShardMap& map) { return std::max(map.servers(), map.next_servers()); }

bool SameShardMap(const ShardMap& a, const ShardMap& b) {
  return a.shard_count() == b.shard_count() && a.servers() == b.servers() && a.next_servers() == b.next_servers() && a.moved() == b.moved();
}

std::string ToString(const ShardMap& map) {
  std::string text = absl::StrCat(map.shard_count(), " shards on ", map.servers(), " servers");
  if (map.next_servers() != 0) absl::StrAppend(&text, ", ", map.moved(), " of them moved to ", map.next_servers());
  return text;
}

absl::Status CheckShardMap(const ShardMap& map) {
  const auto wrong = [&map](const char* field, uint32_t value, const std::string& should) {
    return absl::InvalidArgumentError(absl::StrCat("shard map (", ToString(map), "): ", field, " is ", value, ", it must be ", should));
  };
  if (map.shard_count() == 0 || map.shard_count() > kShardsMax) {
    return wrong("shard_count", map.shard_count(), absl::StrCat("1 to ", kShardsMax));
  }
  const uint32_t servers_max = std::min(kServersMax, map.shard_count());
  const std::string servers_range = absl::StrCat("1 to ", servers_max, ", a shard each at least");
  if (map.servers() == 0 || map.servers() > servers_max) return wrong("servers", map.servers(), servers_range);
  if (map.next_servers() > servers_max) return wrong("next_servers", map.next_servers(), servers_range);
  const uint32_t moved_max = map.next_servers() == 0 ? 0 : map.shard_count();
  if (map.moved() > moved_max) return wrong("moved", map.moved(), absl::StrCat("at most ", moved_max));
  return absl::OkStatus();
}

}  // namespace weir
