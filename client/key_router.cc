#include "client/key_router.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/numeric/bits.h"

namespace weir::client {
namespace {

// Ranges of this many and fewer are left to a comparison sort.
constexpr size_t kComparedMax = 32;
constexpr uint32_t kSpreadBitsMax = 16;  // the starts of more ranges than that would leave the second-level cache

}  // namespace

KeyRouter::KeyRouter(const ShardMap& map) : servers_(ServersOf(map)), server_of_shard_(map.shard_count()) {
  for (uint32_t shard = 0; shard < map.shard_count(); ++shard) server_of_shard_[shard] = OwnerOf(map, shard);
}

void KeyRouter::FindDistinct(uint32_t table, absl::Span<const Key> keys, std::vector<uint32_t>* id_of) {
  index_.Start(keys.size());
  entries_.clear();
  entries_.reserve(keys.size());
  id_of->resize(keys.size());
  uint32_t* const ids = id_of->data();
  for (size_t i = 0; i < keys.size(); ++i) {
    // The shard is the hash modulo a small number; the index takes the high half, so that the two do not go together.
    const uint64_t hash = Mix64(table, keys[i]);
    ids[i] = index_.Number(keys[i], hash);
    if (ids[i] < entries_.size()) continue;
    entries_.push_back({keys[i], ids[i], server_of_shard_[static_cast<uint32_t>(hash % shard_count())]});
  }
}

// Spreads the entries over about as many ranges as there are, by their first digits, and sorts these: keys that are hashes lie evenly, so
// that a range has one or two. Ranges that get many are sorted by comparison.
void KeyRouter::SortEntriesByKey() {
  const auto by_key = [](const Entry& a, const Entry& b) { return a.key < b.key; };
  if (entries_.size() <= kComparedMax) return std::sort(entries_.begin(), entries_.end(), by_key);
  Key all = 0;
  for (const Entry& entry : entries_) all |= entry.key;
  const auto key_bits = static_cast<uint32_t>(absl::bit_width(all));
  const auto spread_bits = std::min({key_bits, static_cast<uint32_t>(absl::bit_width(entries_.size())), kSpreadBitsMax});
  const uint32_t shift = key_bits - spread_bits;
  starts_.assign((size_t{1} << spread_bits) + 1, 0);
  for (const Entry& entry : entries_) ++starts_[(entry.key >> shift) + 1];
  for (size_t range = 1; range < starts_.size(); ++range) starts_[range] += starts_[range - 1];
  scratch_.resize(entries_.size());
  for (const Entry& entry : entries_) scratch_[starts_[entry.key >> shift]++] = entry;
  entries_.swap(scratch_);
  // Each start has moved to its end.
  uint32_t begin = 0;
  for (size_t range = 0; range + 1 < starts_.size(); begin = starts_[range++]) {
    if (starts_[range] - begin > 1) std::sort(entries_.begin() + begin, entries_.begin() + starts_[range], by_key);
  }
}

void KeyRouter::SortEntries(std::vector<uint32_t>* server_ends) {
  SortEntriesByKey();
  server_ends->assign(servers_, 0);
  if (servers_ == 1) {
    server_ends->front() = static_cast<uint32_t>(entries_.size());
    return;
  }
  counts_.assign(servers_, 0);
  for (const Entry& entry : entries_) ++counts_[entry.server];
  uint32_t start = 0;
  for (uint32_t& count : counts_) start += std::exchange(count, start);
  scratch_.resize(entries_.size());
  for (const Entry& entry : entries_) scratch_[counts_[entry.server]++] = entry;
  entries_.swap(scratch_);
  // Each start has moved to its end.
  std::copy(counts_.begin(), counts_.end(), server_ends->begin());
}

void KeyRouter::RouteUnique(uint32_t table, absl::Span<const Key> keys, RoutedKeys* out) {
  FindDistinct(table, keys, &out->slot_of);
  SortEntries(&out->server_ends);
  out->keys.resize(entries_.size());
  slot_of_id_.resize(entries_.size());
  for (size_t slot = 0; slot < entries_.size(); ++slot) {
    out->keys[slot] = entries_[slot].key;
    slot_of_id_[entries_[slot].id] = static_cast<uint32_t>(slot);
  }
  for (uint32_t& slot : out->slot_of) slot = slot_of_id_[slot];
}

void KeyRouter::RouteAll(uint32_t table, absl::Span<const Key> keys, RoutedKeys* out) {
  out->keys.resize(keys.size());
  out->slot_of.resize(keys.size());
  counts_.assign(servers_, 0);
  const ShardDivider divider(shard_count());
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t server = server_of_shard_[divider.ShardOf(Mix64(table, keys[i]))];
    out->slot_of[i] = server;
    ++counts_[server];
  }
  uint32_t start = 0;
  for (uint32_t& count : counts_) start += std::exchange(count, start);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t slot = counts_[out->slot_of[i]]++;
    out->slot_of[i] = slot;
    out->keys[slot] = keys[i];
  }
  out->server_ends.assign(counts_.begin(), counts_.end());
}

}  // namespace weir::client
