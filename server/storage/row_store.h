// The rows of one shard of one table in memory: an open-addressing index over rows that never move.
//
//   index: 2^b words of 32 bits, linear probing. 0: empty; else the low b bits are the row number + 1 and the others a tag, bits of the
//          key's hash, so that almost no probe touches a wrong row. At most 4 of 5 words are taken; then the index doubles.
//   row:   key (8 bytes), weights, slots; `chunk_rows` of them in each block of the arena.
//
// No key is reserved: a row keeps its whole key, and an empty word is told by the row number.
// For 16 weights and one slot that is 68 bytes of payload in 81 to 86 bytes.
#ifndef WEIR_SERVER_STORAGE_ROW_STORE_H_
#define WEIR_SERVER_STORAGE_ROW_STORE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
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
  size_t row_bytes() const { return sizeof(Key) + payload_bytes(); }
};

// Not thread-safe: the table's shard has the lock. Pointers to weights stay valid as long as the arena; slots follow the weights.
class RowStore {
 public:
  // `table` is part of the hash. `arena` outlives the store.
  RowStore(uint32_t table, RowLayout layout, SlabArena* arena);

  // The part of ShardOfKey's hash that the index uses: the half that says nothing about the shard.
  static uint32_t IndexHash(uint64_t placement_hash) { return static_cast<uint32_t>(placement_hash >> 32); }

  // A batch is found in three passes, so that the misses of its keys overlap: PrefetchIndex for all, PrefetchRow for all, Find for all.
  void PrefetchIndex(uint32_t hash) const {
    if (!index_.empty()) __builtin_prefetch(&index_[Home(hash)]);
  }
  void PrefetchRow(uint32_t hash) const;

  // The weights of the key's row; null without a row.
  float* Find(Key key, uint32_t hash) const;
  // Adds a row whose weights and slots the caller writes. REQUIRES: the key has none.
  float* Insert(Key key, uint32_t hash);

  uint64_t rows() const { return rows_; }
  // Blocks, index and block list; the unused part of the last block included.
  size_t memory_bytes() const;

  // f(const char* row): the row's layout().row_bytes() bytes, in order of insertion.
  template <typename F>
  void ForEach(F f) const {
    for (uint32_t row = 0; row < rows_; ++row) f(static_cast<const char*>(RowAt(row)));
  }

  const RowLayout& layout() const { return layout_; }

 private:
  static constexpr uint32_t kIndexBitsMin = 4;
  static constexpr uint32_t kIndexBitsMax = 31;

  uint32_t Home(uint32_t hash) const { return hash >> (32 - index_bits_); }
  uint32_t TagOf(uint32_t hash) const { return hash << index_bits_; }
  bool TagMatches(uint32_t word, uint32_t hash) const { return ((word ^ TagOf(hash)) >> index_bits_) == 0; }
  uint32_t RowOfWord(uint32_t word) const { return (word & ((1u << index_bits_) - 1)) - 1; }
  char* RowAt(uint32_t row) const { return chunks_[row >> chunk_bits_] + (row & ((1u << chunk_bits_) - 1)) * row_bytes_; }
  static Key KeyOf(const char* row) {
    Key key;
    std::memcpy(&key, row, sizeof(key));
    return key;
  }
  void Grow();
  void PutWord(uint32_t hash, uint32_t row);

  const uint32_t table_;
  const RowLayout layout_;
  const size_t row_bytes_;
  const uint32_t chunk_bits_;  // log2 of the rows in a block
  SlabArena* const arena_;

  uint32_t index_bits_ = kIndexBitsMin;
  uint32_t rows_ = 0;
  uint32_t rows_max_ = 0;  // before the index grows
  std::vector<uint32_t> index_;
  std::vector<char*> chunks_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_ROW_STORE_H_
