#include "server/storage/row_store.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "absl/base/attributes.h"
#include "absl/numeric/bits.h"
#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

// Large enough that the list of blocks stays in cache, small enough that thousands of nearly empty stores waste little.
constexpr size_t kChunkBytes = size_t{20} << 10;
constexpr size_t kLineBytes = 64;
constexpr size_t kPrefetchBytesMax = 8 * kLineBytes;  // of one row: the hardware follows by itself then
// The first index sizes of the phases lie evenly within one growth by a quarter.
constexpr uint64_t kFirstBuckets = 16;
constexpr uint64_t kGrowthPhases = 4;
constexpr uint64_t kRowsMax = uint64_t{1} << 31;

uint32_t ChunkBits(size_t payload_bytes) {
  uint32_t bits = 0;
  while ((payload_bytes << (bits + 1)) <= kChunkBytes) ++bits;
  return bits;
}

// Inlined by force: gcc takes a function that only prefetches for one without effect, and leaves out its calls.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PrefetchFloats(const float* floats, size_t count) {
  const char* const begin = reinterpret_cast<const char*>(floats);
  const size_t bytes = std::min(count * sizeof(float), kPrefetchBytesMax);
  if (bytes == 0) return;
  for (size_t offset = 0; offset < bytes; offset += kLineBytes) __builtin_prefetch(begin + offset);
  // A row that does not begin on a line ends on one more.
  if (reinterpret_cast<uintptr_t>(begin) % kLineBytes != 0) __builtin_prefetch(begin + bytes - 1);
}

}  // namespace

RowStore::RowStore(StorePlace place, RowLayout layout, SlabArena* arena)
    : place_(place), layout_(layout), chunk_bits_(ChunkBits(layout.payload_bytes())), arena_(arena) {}

uint32_t RowStore::FindRow(Key key, uint32_t hash) const {
  if (bucket_count_ == 0) return kNoRow;
  for (size_t at = Home(hash);; at = Next(at)) {
    const Bucket& bucket = buckets_[at];
    // All places at once: where in its bucket a key is, no branch predictor can know.
    uint32_t matches = 0;
    for (uint32_t i = 0; i < kBucketKeys; ++i) matches |= static_cast<uint32_t>(bucket.keys[i] == key) << i;
    matches &= (1u << bucket.used) - 1;
    if (matches != 0) return bucket.rows[absl::countr_zero(matches)];
    if (bucket.used < kBucketKeys) return kNoRow;
  }
}

Row RowStore::FindAhead(Key key, uint32_t hash, Touch touch) const {
  const Row row = Find(key, hash);
  if (row.weights == nullptr) return row;
  PrefetchFloats(row.weights, layout_.weights);
  if (touch == Touch::kAll) PrefetchFloats(row.slots, layout_.slots);
  return row;
}

Row RowStore::Find(Key key, uint32_t hash) const {
  const uint32_t row = FindRow(key, hash);
  return row == kNoRow ? Row() : RowAt(row);
}

Row RowStore::Insert(Key key, uint32_t hash) {
  if (rows_ == rows_max_) Grow();
  if ((rows_ >> chunk_bits_) == chunks_.size()) {
    chunks_.push_back(reinterpret_cast<float*>(arena_->Allocate(layout_.payload_bytes() << chunk_bits_)));
  }
  Place(key, hash, rows_);
  return RowAt(rows_++);
}

void RowStore::Place(Key key, uint32_t hash, uint32_t row) {
  size_t at = Home(hash);
  while (buckets_[at].used == kBucketKeys) at = Next(at);
  Bucket& bucket = buckets_[at];
  bucket.keys[bucket.used] = key;
  bucket.rows[bucket.used] = row;
  ++bucket.used;
}

void RowStore::Grow() {
  const uint64_t old_count = bucket_count_;
  Bucket* const old = buckets_;
  bucket_count_ = old_count == 0 ? kFirstBuckets + place_.shard % kGrowthPhases : old_count + old_count / 4;
  const uint64_t rows_max = bucket_count_ * kBucketKeys * 7 / 8;
  if (rows_max > kRowsMax) {
    spdlog::critical("one shard of table {} has {} rows, as many as it can: start the job with more shards", place_.table, rows_);
    std::abort();
  }
  rows_max_ = static_cast<uint32_t>(rows_max);
  buckets_ = reinterpret_cast<Bucket*>(arena_->Allocate(bucket_count_ * sizeof(Bucket)));
  std::uninitialized_value_construct_n(buckets_, bucket_count_);
  for (const Bucket& bucket : absl::MakeConstSpan(old, old_count)) {
    for (uint32_t i = 0; i < bucket.used; ++i) Place(bucket.keys[i], IndexHash(Mix64(place_.table, bucket.keys[i])), bucket.rows[i]);
  }
  if (old != nullptr) arena_->Release(reinterpret_cast<char*>(old), old_count * sizeof(Bucket));
}

size_t RowStore::memory_bytes() const {
  return chunks_.size() * (layout_.payload_bytes() << chunk_bits_) + bucket_count_ * sizeof(Bucket) + chunks_.capacity() * sizeof(float*);
}

}  // namespace weir::server
