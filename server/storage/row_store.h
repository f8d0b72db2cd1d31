// The rows of one shard of one table in memory: a hash table of pages, each of which holds its keys and their rows together.
//
//   place:  hashes are spread over the pages in order. A row is in the first page from its home that had room, so a search ends at the
//           first page that is not full; nearly all end at home. No key is reserved and none is ever taken out.
//   tag:    8 bits of its hash for each row, in one line of the page: a search compares the keys of those that match.
//   growth: the store grows by a chunk of pages, an eighth to a sixteenth of what it has, and rows move to later pages in place. Chunks
//           grow with the store, so the list of them stays in cache. They are given back when the store goes.
//
// A random row costs page walks and lines from memory, not bytes. Here it costs one walk, and three lines of the same page for 16 weights;
// with an index apart from the rows it would be two walks (docs/performance.md). For 16 weights and one slot, 76 bytes with the key, a row
// takes 82 to 92 bytes (tests/server/storage/row_store_test.cc).
#ifndef WEIR_SERVER_STORAGE_ROW_STORE_H_
#define WEIR_SERVER_STORAGE_ROW_STORE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "server/storage/page_layout.h"
#include "server/storage/slab_arena.h"

namespace weir::server {

// Not thread-safe: the table's shard has the lock. Rows stay where they are until the next Insert.
class RowStore {
 public:
  // `table` is part of the hash. `layout` and `arena` outlive the store.
  RowStore(uint32_t table, const PageLayout* layout, SlabArena* arena);
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  // The part of ShardOfKey's hash that the store uses: the half that says nothing about the shard.
  static uint32_t StoreHash(uint64_t placement_hash) { return static_cast<uint32_t>(placement_hash >> 32); }
  // Not the leading bits, of which a page's rows have the same. Never 0: that is the tag of a place without a row.
  static uint8_t Tag(uint32_t hash) { return static_cast<uint8_t>(hash & 0xff) == 0 ? 0xff : static_cast<uint8_t>(hash); }

  Row Find(Key key, uint32_t hash) const;
  // Adds a row whose weights and slots the caller writes. REQUIRES: the key has none.
  Row Insert(Key key, uint32_t hash);

  // For who searches for many keys at a time (row_search.h): the first page of a search, and the one after it.
  uint32_t HomePage(uint32_t hash) const { return static_cast<uint32_t>(uint64_t{hash} * page_count_ >> 32); }
  uint32_t NextPage(uint32_t number) const { return number + 1 < page_count_ ? number + 1 : 0; }
  // Where a page's memory begins.
  uint8_t* PageBytes(uint32_t number) const {
    const ChunkPlace place = PlaceOf(number);
    return chunks_[place.chunk] + size_t{place.page} * page_bytes_;
  }

  uint64_t rows() const { return rows_; }
  // Pages and the list of chunks; room for rows to come included.
  size_t memory_bytes() const { return chunk_bytes_ + chunks_.capacity() * sizeof(uint8_t*); }

  // f(key, weights, slots), spans of const float, in the order of the pages.
  template <typename F>
  void ForEach(F f) const {
    for (uint32_t number = 0; number < page_count_; ++number) {
      const PageLayout::Page page = PageAt(number);
      for (uint32_t place = 0; place < *page.head; ++place) {
        const Row row = layout_->RowOf(page, place);
        f(*layout_->KeyOf(page, place), absl::MakeConstSpan(row.weights, layout_->row().weights),
          absl::MakeConstSpan(row.slots, layout_->row().slots));
      }
    }
  }

 private:
  // Chunks of a size, before they double.
  static constexpr int kSameChunkBits = 3;
  static constexpr uint32_t kSameChunks = 1u << kSameChunkBits;

  // With the pages counted from kSameChunks first chunks on, a chunk of 2^chunk_bits pages is named by the leading bits of its pages.
  struct ChunkPlace {
    uint32_t chunk = 0;
    uint32_t page = 0;  // in the chunk
    int chunk_bits = 0;
  };
  ChunkPlace PlaceOf(uint32_t number) const {
    const uint32_t counted = number + (kSameChunks << first_chunk_bits_);
    const int bits = absl::bit_width(counted) - 1 - kSameChunkBits;
    return {(static_cast<uint32_t>(bits - first_chunk_bits_) << kSameChunkBits) + (counted >> bits) - kSameChunks,
            counted & ((1u << bits) - 1), bits};
  }
  PageLayout::Page PageAt(uint32_t number) const { return layout_->At(PageBytes(number), number); }

  // Adds the row to a page, which has room.
  Row Append(Key key, uint32_t hash, const PageLayout::Page& page);
  Row Place(Key key, uint32_t hash);
  void Grow();
  void MoveRows(uint32_t old_count);

  // What a search needs comes first, on one line.
  uint32_t page_count_ = 1;
  const int first_chunk_bits_;  // log2 of the pages of a first chunk
  const size_t page_bytes_;
  std::vector<uint8_t*> chunks_;  // the arena's; until the first row an empty page that all stores share
  const PageLayout* const layout_;
  SlabArena* const arena_;
  const uint32_t table_;
  uint64_t rows_ = 0;
  uint64_t rows_max_ = 0;  // before the store grows
  size_t chunk_bytes_ = 0;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_ROW_STORE_H_
