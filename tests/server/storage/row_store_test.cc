#include "server/storage/row_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "server/storage/slab_arena.h"

namespace weir::server {
namespace {

constexpr uint32_t kTable = 5;

uint32_t HashOf(Key key) { return RowStore::IndexHash(Mix64(kTable, key)); }

std::vector<float> Values(absl::Span<const float> weights, absl::Span<const float> slots) {
  std::vector<float> values(weights.begin(), weights.end());
  values.insert(values.end(), slots.begin(), slots.end());
  return values;
}

// Keys that meet: few distinct ones, the ends of the range, and some whose low or high bits are all that differs.
Key AwkwardKey(std::mt19937_64* random) {
  const uint64_t pick = (*random)();
  switch (pick % 4) {
    case 0:
      return pick >> 2 & 0xff;
    case 1:
      return ~Key{0} - (pick >> 2 & 0xff);
    case 2:
      return (pick >> 2 & 0xff) << 56;
    default:
      return pick >> 50;
  }
}

TEST(RowStoreTest, AgreesWithAMapUnderRandomOperations) {
  SlabArena arena;
  RowStore store({kTable, 0}, RowLayout{3, 2}, &arena);
  std::map<Key, std::vector<float>> twin;
  std::mt19937_64 random(1);
  for (int i = 0; i < 60000; ++i) {
    const Key key = AwkwardKey(&random);
    Row row = store.Find(key, HashOf(key));
    ASSERT_EQ(row.weights != nullptr, twin.count(key) == 1) << key;
    if (row.weights == nullptr) {
      row = store.Insert(key, HashOf(key));
      std::fill(row.weights, row.weights + 3, 0.0f);
      std::fill(row.slots, row.slots + 2, 0.0f);
      twin[key] = {0, 0, 0, 0, 0};
    }
    ASSERT_EQ(Values({row.weights, 3}, {row.slots, 2}), twin[key]);
    for (int d = 0; d < 5; ++d) (d < 3 ? row.weights[d] : row.slots[d - 3]) = twin[key][d] = static_cast<float>(random() % 1000);
  }
  EXPECT_EQ(store.rows(), twin.size());
  size_t seen = 0;
  store.ForEach([&](Key key, absl::Span<const float> weights, absl::Span<const float> slots) {
    EXPECT_EQ(Values(weights, slots), twin.at(key));
    ++seen;
  });
  EXPECT_EQ(seen, twin.size());
}

TEST(RowStoreTest, EveryKeyIsLegal) {
  SlabArena arena;
  RowStore store({kTable, 0}, RowLayout{1, 0}, &arena);
  const std::vector<Key> keys = {0, ~Key{0}, 1, Key{1} << 63};
  for (Key key : keys) EXPECT_EQ(store.Find(key, HashOf(key)).weights, nullptr);
  for (size_t i = 0; i < keys.size(); ++i) *store.Insert(keys[i], HashOf(keys[i])).weights = static_cast<float>(i);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(*store.Find(keys[i], HashOf(keys[i])).weights, static_cast<float>(i));
}

// The last bucket is the home of all: probing goes on at the first.
TEST(RowStoreTest, KeysOfTheSameHashAreDifferentRows) {
  SlabArena arena;
  RowStore store({kTable, 0}, RowLayout{1, 0}, &arena);
  constexpr uint32_t kHash = ~uint32_t{0};
  constexpr Key kKeys = 8;  // more than a bucket has, fewer than make the index grow
  for (Key key = 0; key < kKeys; ++key) *store.Insert(key, kHash).weights = static_cast<float>(key);
  for (Key key = 0; key < kKeys; ++key) EXPECT_EQ(*store.Find(key, kHash).weights, static_cast<float>(key));
  EXPECT_EQ(store.Find(kKeys, kHash).weights, nullptr);
}

TEST(RowStoreTest, RowsNeverMoveAndDoNotOverlap) {
  SlabArena arena;
  for (const RowLayout layout : {RowLayout{16, 1}, RowLayout{7, 0}, RowLayout{3, 7}, RowLayout{4096, 8193}}) {
    RowStore store({kTable, 0}, layout, &arena);
    const Key count = layout.weights > 100 ? 100 : 5000;
    std::vector<Row> rows;
    for (Key key = 0; key < count; ++key) {
      rows.push_back(store.Insert(key, HashOf(key)));
      std::fill(rows[key].weights, rows[key].weights + layout.weights, static_cast<float>(key));
      std::fill(rows[key].slots, rows[key].slots + layout.slots, -static_cast<float>(key));
    }
    for (Key key = 0; key < count; ++key) {
      const Row row = store.Find(key, HashOf(key));
      EXPECT_EQ(row.weights, rows[key].weights);
      EXPECT_EQ(row.slots, rows[key].slots);
      EXPECT_EQ(std::count(row.weights, row.weights + layout.weights, static_cast<float>(key)), layout.weights);
      EXPECT_EQ(std::count(row.slots, row.slots + layout.slots, -static_cast<float>(key)), layout.slots);
    }
  }
}

TEST(RowStoreTest, FindAheadIsFind) {
  SlabArena arena;
  RowStore store({kTable, 0}, RowLayout{2, 1}, &arena);
  store.PrefetchIndex(7);
  EXPECT_EQ(store.FindAhead(7, 7, RowStore::Touch::kAll).weights, nullptr);
  const Row row = store.Insert(1, HashOf(1));
  for (const RowStore::Touch touch : {RowStore::Touch::kWeights, RowStore::Touch::kAll}) {
    EXPECT_EQ(store.FindAhead(1, HashOf(1), touch).weights, row.weights);
    EXPECT_EQ(store.FindAhead(1, HashOf(1), touch).slots, row.slots);
    EXPECT_EQ(store.FindAhead(2, HashOf(2), touch).weights, nullptr);
  }
  for (uint32_t hash : {0u, HashOf(1), ~0u}) store.PrefetchIndex(hash);
  EXPECT_EQ(store.rows(), 1u);
}

// At the worst fill of the index, just after it has grown, and at the best.
TEST(RowStoreTest, TakesLessThanThirtyPercentBesideThePayload) {
  SlabArena arena;
  const RowLayout layout{16, 1};
  RowStore store({kTable, 0}, layout, &arena);
  double worst = 0;
  for (Key key = 0; key < 300000; ++key) {
    store.Insert(key, HashOf(key));
    if (key < 10000) continue;
    worst = std::max(worst, static_cast<double>(store.memory_bytes()) / (store.rows() * layout.payload_bytes()));
  }
  EXPECT_LT(worst, 1.3);
}

TEST(SlabArenaTest, BlocksAreAlignedAndApart) {
  SlabArena arena;
  std::vector<char*> blocks;
  size_t asked = 0;
  for (size_t size : {1ul, 64ul, 65ul, 100001ul, SlabArena::kSlabBytes, SlabArena::kSlabBytes + 1, 5 * SlabArena::kSlabBytes}) {
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(arena.Allocate(size));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % 64, 0u);
      std::memset(blocks.back(), static_cast<int>(blocks.size()), size);
      asked += size;
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i][0], static_cast<char>(i + 1));
  EXPECT_GE(arena.slab_bytes(), asked);
  EXPECT_EQ(arena.slab_bytes() % SlabArena::kSlabBytes, 0u);
}

TEST(SlabArenaTest, ReleasedBlocksAreUsedAgain) {
  SlabArena arena;
  char* const block = arena.Allocate(SlabArena::kSlabBytes);
  const size_t taken = arena.slab_bytes();
  EXPECT_EQ(arena.spare_bytes(), 0u);
  arena.Release(block, SlabArena::kSlabBytes);
  EXPECT_EQ(arena.spare_bytes(), SlabArena::kSlabBytes);
  for (size_t i = 0; i < 16; ++i) arena.Allocate(SlabArena::kSlabBytes / 16);
  EXPECT_EQ(arena.slab_bytes(), taken);
  EXPECT_EQ(arena.spare_bytes(), 0u);
}

// What growing indexes leave behind is taken by rows.
TEST(SlabArenaTest, GrowingStoresWasteLittle) {
  SlabArena arena;
  std::vector<RowStore> stores;
  for (uint32_t shard = 0; shard < 64; ++shard) stores.emplace_back(StorePlace{kTable, shard}, RowLayout{16, 1}, &arena);
  double worst = 0;
  for (Key key = 0; key < 8000; ++key) {
    size_t used = 0;
    for (RowStore& store : stores) {
      store.Insert(key, HashOf(key));
      used += store.memory_bytes();
    }
    if (key > 2000) worst = std::max(worst, static_cast<double>(arena.slab_bytes()) / used);
  }
  EXPECT_LT(worst, 1.2);
}

}  // namespace
}  // namespace weir::server
