// The rows of one shard of one table in memory: an index of keys over rows that never move.
//
//   index:  buckets of one cache line each: up to 5 keys with their row numbers. A key is in the first bucket from its home that had
//           room; no key is ever taken out, so a search ends at the first bucket that is not full. At most 7 of 8 places are taken;
//           then the index grows by a quarter. No key is reserved: a bucket says how many it has.
//   blocks: a power of two of rows each, first the weights of all of them, then the slots of all of them. Weights begin on a cache line
//           when 16 divides their number.
//
// A lookup of 16 weights thus touches two lines: that, not bytes, is what a random row costs. For 16 weights and one slot, 76 bytes with
// the key, a row takes 83 to 87 bytes, and the arena keeps up to a fifth in reserve (tests/server/storage/row_store_test.cc).
#ifndef WEIR_SERVER_STORAGE_ROW_STORE_H_
#define WEIR_SERVER_STORAGE_ROW_STORE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/key.h"
#include "server/storage/slab_arena.h"

namespace weir::server {

// What a row is made of, in floats.
struct RowLayout {
  uint32_t weights = 0;
  uint32_t slots = 0;

  size_t payload_bytes() const { return (size_t{weights} + slots) * sizeof(float); }
};

// A row in place; null weights: there is none.
struct Row {
  float* weights = nullptr;
  float* slots = nullptr;
};

// Which part of which table a store holds.
struct StorePlace {
  uint32_t table = 0;  // part of the hash
  uint32_t shard = 0;  // shards fill evenly: it staggers when their indexes grow, so that one uses what another has left
};

// Not thread-safe: the table's shard has the lock. Rows stay where they are as long as the arena, which also outlives the store's memory.
class RowStore {
 public:
  // `arena` outlives the store.
  RowStore(StorePlace place, RowLayout layout, SlabArena* arena);

  // The part of ShardOfKey's hash that the index uses: the half that says nothing about the shard.
  static uint32_t IndexHash(uint64_t placement_hash) { return static_cast<uint32_t>(placement_hash >> 32); }

  // A key of a batch is found in three stages, each some keys ahead of the next, so that the misses of the keys overlap: PrefetchIndex,
  // FindAhead, and the use of the row.
  void PrefetchIndex(uint32_t hash) const {
    if (bucket_count_ > 0) __builtin_prefetch(&buckets_[Home(hash)]);
  }
  enum class Touch { kWeights, kAll };
  // Find, with what is to be touched of the row on its way into the caches.
  Row FindAhead(Key key, uint32_t hash, Touch touch) const;

  Row Find(Key key, uint32_t hash) const;
  // Adds a row whose weights and slots the caller writes. REQUIRES: the key has none.
  Row Insert(Key key, uint32_t hash);

  uint64_t rows() const { return rows_; }
  const RowLayout& layout() const { return layout_; }
  // Blocks, index and block list; the unused part of the last block included.
  size_t memory_bytes() const;

  // f(key, weights, slots), spans of const float, in the order of the index.
  template <typename F>
  void ForEach(F f) const {
    for (const Bucket& bucket : absl::MakeConstSpan(buckets_, bucket_count_)) {
      for (uint32_t i = 0; i < bucket.used; ++i) {
        const Row row = RowAt(bucket.rows[i]);
        f(bucket.keys[i], absl::MakeConstSpan(row.weights, layout_.weights), absl::MakeConstSpan(row.slots, layout_.slots));
      }
    }
  }

 private:
  static constexpr uint32_t kBucketKeys = 5;
  struct alignas(64) Bucket {
    Key keys[kBucketKeys];
    uint32_t rows[kBucketKeys];
    uint32_t used;
  };
  static_assert(sizeof(Bucket) == 64, "a bucket is a cache line");
  static constexpr uint32_t kNoRow = ~uint32_t{0};

  // Monotone in the hash: growing the index moves keys in order.
  size_t Home(uint32_t hash) const { return static_cast<size_t>(uint64_t{hash} * bucket_count_ >> 32); }
  size_t Next(size_t bucket) const { return bucket + 1 < bucket_count_ ? bucket + 1 : 0; }
  uint32_t FindRow(Key key, uint32_t hash) const;
  Row RowAt(uint32_t row) const {
    float* const chunk = chunks_[row >> chunk_bits_];
    const size_t place = row & ((1u << chunk_bits_) - 1);
    return {chunk + place * layout_.weights, chunk + (size_t{layout_.weights} << chunk_bits_) + place * layout_.slots};
  }
  void Place(Key key, uint32_t hash, uint32_t row);
  void Grow();

  const StorePlace place_;
  const RowLayout layout_;
  const uint32_t chunk_bits_;  // log2 of chunk_rows
  SlabArena* const arena_;

  uint32_t rows_ = 0;
  uint32_t rows_max_ = 0;  // before the index grows
  uint64_t bucket_count_ = 0;
  Bucket* buckets_ = nullptr;  // the arena's, as are the chunks
  std::vector<float*> chunks_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_ROW_STORE_H_
