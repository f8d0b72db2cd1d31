#include "client/key_router.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace weir::client {
namespace {

constexpr uint32_t kRadixBits = 8;
constexpr uint32_t kRadix = 1u << kRadixBits;
constexpr uint32_t kKeyDigits = 64 / kRadixBits;
// Below this a comparison sort is faster than the histograms of a radix sort.
constexpr size_t kRadixEntriesMin = 128;

size_t BucketsFor(size_t keys) {
  size_t buckets = 16;
  while (buckets < 2 * keys) buckets *= 2;
  return buckets;
}

}  // namespace

KeyRouter::KeyRouter(ShardMap map) : map_(map), server_of_shard_(map.shard_count) {
  for (uint32_t shard = 0; shard < map.shard_count; ++shard) {
    server_of_shard_[shard] = ServerOfShard(shard, map.shard_count, map.server_count);
  }
}

void KeyRouter::FindDistinct(uint32_t table, absl::Span<const Key> keys, std::vector<uint32_t>* id_of) {
  const size_t mask = BucketsFor(keys.size()) - 1;
  buckets_.assign(mask + 1, 0);
  entries_.clear();
  entries_.reserve(keys.size());
  id_of->resize(keys.size());
  uint32_t* const ids = id_of->data();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Key key = keys[i];
    // The shard is the hash modulo a small number; the bucket takes the high half, so that the two do not go together.
    const uint64_t hash = Mix64(table, key);
    size_t bucket = (hash >> 32) & mask;
    while (buckets_[bucket] != 0 && entries_[buckets_[bucket] - 1].key != key) bucket = (bucket + 1) & mask;
    if (buckets_[bucket] == 0) {
      const uint32_t shard = static_cast<uint32_t>(hash % map_.shard_count);
      entries_.push_back({key, static_cast<uint32_t>(entries_.size()), server_of_shard_[shard]});
      buckets_[bucket] = static_cast<uint32_t>(entries_.size());
    }
    ids[i] = buckets_[bucket] - 1;
  }
}

void KeyRouter::SortEntriesByKey() {
  if (entries_.size() < kRadixEntriesMin) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
    return;
  }
  std::array<std::array<uint32_t, kRadix>, kKeyDigits> counts = {};
  for (const Entry& entry : entries_) {
    for (uint32_t digit = 0; digit < kKeyDigits; ++digit) ++counts[digit][(entry.key >> (digit * kRadixBits)) & (kRadix - 1)];
  }
  scratch_.resize(entries_.size());
  for (uint32_t digit = 0; digit < kKeyDigits; ++digit) {
    const uint32_t shift = digit * kRadixBits;
    std::array<uint32_t, kRadix>& starts = counts[digit];
    // Small keys share their high digits: nothing to order there.
    if (starts[(entries_[0].key >> shift) & (kRadix - 1)] == entries_.size()) continue;
    uint32_t start = 0;
    for (uint32_t& count : starts) start += std::exchange(count, start);
    for (const Entry& entry : entries_) scratch_[starts[(entry.key >> shift) & (kRadix - 1)]++] = entry;
    entries_.swap(scratch_);
  }
}

void KeyRouter::SortEntries(std::vector<uint32_t>* server_ends) {
  SortEntriesByKey();
  server_ends->assign(map_.server_count, 0);
  if (map_.server_count == 1) {
    server_ends->front() = static_cast<uint32_t>(entries_.size());
    return;
  }
  counts_.assign(map_.server_count, 0);
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
  counts_.assign(map_.server_count, 0);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t server = server_of_shard_[ShardOfKey(table, keys[i], map_.shard_count)];
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
