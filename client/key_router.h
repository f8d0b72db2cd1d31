// From the keys of a batch to what each server is asked: duplicates removed, grouped by owner, sorted, with the way back. Pure; no RPC.
#ifndef WEIR_CLIENT_KEY_ROUTER_H_
#define WEIR_CLIENT_KEY_ROUTER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/key.h"
#include "base/key_index.h"
#include "proto/shard_map.h"

namespace weir::client {

// Keys of one table in slots. Slots are grouped by server: server s owns slots [server_ends[s - 1], server_ends[s]), from 0 for the first.
struct RoutedKeys {
  std::vector<Key> keys;              // of each slot
  std::vector<uint32_t> server_ends;  // one for each server
  std::vector<uint32_t> slot_of;      // for each input position its slot

  uint32_t server_begin(uint32_t server) const { return server == 0 ? 0 : server_ends[server - 1]; }
};

// Single-threaded: keeps its working memory between calls.
class KeyRouter {
 public:
  explicit KeyRouter(const ShardMap& map);

  // One slot for each distinct key, strictly increasing within a server. Linear in the number of keys where these lie evenly (hashes, dense
  // numbers): hashing finds the distinct ones, their first digits nearly order them. REQUIRES: fewer than 2^31 keys. Replaces `out`, whose
  // memory is reused.
  void RouteUnique(uint32_t table, absl::Span<const Key> keys, RoutedKeys* out);

  // One slot for each position: duplicates stay, in their order.
  void RouteAll(uint32_t table, absl::Span<const Key> keys, RoutedKeys* out);

 private:
  struct Entry {
    Key key;
    uint32_t id;      // in order of first appearance
    uint32_t server;  // its owner
  };

  void FindDistinct(uint32_t table, absl::Span<const Key> keys, std::vector<uint32_t>* id_of);
  // Orders entries_ by key, then stably by server; writes where each server ends.
  void SortEntries(std::vector<uint32_t>* server_ends);
  void SortEntriesByKey();

  uint32_t shard_count() const { return static_cast<uint32_t>(server_of_shard_.size()); }

  const uint32_t servers_;
  std::vector<uint32_t> server_of_shard_;
  KeyIndex index_;
  std::vector<Entry> entries_;  // by the index's numbers, then in order
  std::vector<uint32_t> starts_;
  std::vector<Entry> scratch_;
  std::vector<uint32_t> slot_of_id_;
  std::vector<uint32_t> counts_;
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_KEY_ROUTER_H_
