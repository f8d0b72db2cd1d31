#include "server/storage/row_store.h"

#include <algorithm>
#include <cstdlib>

#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

// Large enough that the list of blocks stays in cache, small enough that thousands of nearly empty stores waste little.
constexpr size_t kChunkBytes = size_t{4} << 10;
constexpr size_t kLineBytes = 64;
constexpr size_t kPrefetchBytesMax = 8 * kLineBytes;  // of one row: the hardware follows by itself then

uint32_t ChunkBits(size_t row_bytes) {
  uint32_t bits = 0;
  while ((row_bytes << (bits + 1)) <= kChunkBytes) ++bits;
  return bits;
}

}  // namespace

RowStore::RowStore(uint32_t table, RowLayout layout, SlabArena* arena)
    : table_(table), layout_(layout), row_bytes_(layout.row_bytes()), chunk_bits_(ChunkBits(row_bytes_)), arena_(arena) {}

void RowStore::PrefetchRow(uint32_t hash) const {
  if (index_.empty()) return;
  const uint32_t mask = static_cast<uint32_t>(index_.size()) - 1;
  for (uint32_t i = Home(hash); index_[i] != 0; i = (i + 1) & mask) {
    if (!TagMatches(index_[i], hash)) continue;
    const char* const row = RowAt(RowOfWord(index_[i]));
    const size_t bytes = std::min(row_bytes_, kPrefetchBytesMax);
    for (size_t offset = 0; offset < bytes; offset += kLineBytes) __builtin_prefetch(row + offset);
    __builtin_prefetch(row + bytes - 1);
    return;
  }
}

float* RowStore::Find(Key key, uint32_t hash) const {
  if (index_.empty()) return nullptr;
  const uint32_t mask = static_cast<uint32_t>(index_.size()) - 1;
  for (uint32_t i = Home(hash); index_[i] != 0; i = (i + 1) & mask) {
    if (!TagMatches(index_[i], hash)) continue;
    char* const row = RowAt(RowOfWord(index_[i]));
    if (KeyOf(row) == key) return reinterpret_cast<float*>(row + sizeof(Key));
  }
  return nullptr;
}

float* RowStore::Insert(Key key, uint32_t hash) {
  if (rows_ == rows_max_) Grow();
  if ((rows_ >> chunk_bits_) == chunks_.size()) chunks_.push_back(arena_->Allocate(row_bytes_ << chunk_bits_));
  char* const row = RowAt(rows_);
  std::memcpy(row, &key, sizeof(key));
  PutWord(hash, rows_++);
  return reinterpret_cast<float*>(row + sizeof(Key));
}

void RowStore::PutWord(uint32_t hash, uint32_t row) {
  const uint32_t mask = static_cast<uint32_t>(index_.size()) - 1;
  uint32_t i = Home(hash);
  while (index_[i] != 0) i = (i + 1) & mask;
  index_[i] = TagOf(hash) | (row + 1);
}

void RowStore::Grow() {
  if (!index_.empty()) ++index_bits_;
  if (index_bits_ > kIndexBitsMax) {
    spdlog::critical("one shard of table {} has {} rows, as many as it can: start the job with more shards", table_, rows_);
    std::abort();
  }
  const uint32_t words = 1u << index_bits_;
  index_.assign(words, 0);
  rows_max_ = words / 5 * 4;
  for (uint32_t row = 0; row < rows_; ++row) PutWord(IndexHash(Mix64(table_, KeyOf(RowAt(row)))), row);
}

size_t RowStore::memory_bytes() const {
  return chunks_.size() * (row_bytes_ << chunk_bits_) + index_.capacity() * sizeof(uint32_t) + chunks_.capacity() * sizeof(char*);
}

}  // namespace weir::server
