#include "server/storage/row_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "server/storage/slab_arena.h"

namespace weir::server {
namespace {

constexpr uint32_t kTable = 5;

uint32_t HashOf(Key key) { return RowStore::StoreHash(Mix64(kTable, key)); }

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
  const PageLayout layout(RowLayout{3, 2});
  RowStore store(kTable, &layout, &arena);
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
  const PageLayout layout(RowLayout{1, 0});
  RowStore store(kTable, &layout, &arena);
  const std::vector<Key> keys = {0, ~Key{0}, 1, Key{1} << 63};
  for (Key key : keys) EXPECT_EQ(store.Find(key, HashOf(key)).weights, nullptr);
  for (size_t i = 0; i < keys.size(); ++i) *store.Insert(keys[i], HashOf(keys[i])).weights = static_cast<float>(i);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(*store.Find(keys[i], HashOf(keys[i])).weights, static_cast<float>(i));
}

// The last page is the home of all: a search goes on at the first, also while rows move to make room for more.
TEST(RowStoreTest, KeysOfTheSameHashAreDifferentRows) {
  SlabArena arena;
  const PageLayout layout(RowLayout{1, 0});
  RowStore store(kTable, &layout, &arena);
  constexpr uint32_t kHash = ~uint32_t{0};
  for (Key other = 1000; other < 1970; ++other) *store.Insert(other, HashOf(other)).weights = static_cast<float>(other);
  constexpr Key kKeys = 100;  // more than the last page has room for, and fewer than make the store grow, which asks for hashes of its own
  for (Key key = 0; key < kKeys; ++key) {
    ASSERT_EQ(store.Find(key, kHash).weights, nullptr);
    *store.Insert(key, kHash).weights = static_cast<float>(key);
  }
  for (Key key = 0; key < kKeys; ++key) EXPECT_EQ(*store.Find(key, kHash).weights, static_cast<float>(key));
  for (Key other = 1000; other < 1970; ++other) EXPECT_EQ(*store.Find(other, HashOf(other)).weights, static_cast<float>(other));
}

TEST(RowStoreTest, RowsAreApartAndMoveWhole) {
  SlabArena arena;
  for (const RowLayout row_layout : {RowLayout{16, 1}, RowLayout{7, 0}, RowLayout{3, 7}, RowLayout{64, 2}, RowLayout{4096, 8193}}) {
    const PageLayout layout(row_layout);
    RowStore store(kTable, &layout, &arena);
    const Key count = row_layout.weights > 100 ? 100 : 5000;
    for (Key key = 0; key < count; ++key) {
      const Row row = store.Insert(key, HashOf(key));
      std::fill(row.weights, row.weights + row_layout.weights, static_cast<float>(key));
      std::fill(row.slots, row.slots + row_layout.slots, -static_cast<float>(key));
    }
    for (Key key = 0; key < count; ++key) {
      const Row row = store.Find(key, HashOf(key));
      ASSERT_NE(row.weights, nullptr);
      EXPECT_EQ(std::count(row.weights, row.weights + row_layout.weights, static_cast<float>(key)), row_layout.weights);
      EXPECT_EQ(std::count(row.slots, row.slots + row_layout.slots, -static_cast<float>(key)), row_layout.slots);
    }
  }
}

// At the worst fill, just after the store has grown, and on average.
TEST(RowStoreTest, TakesLittleBesideThePayload) {
  SlabArena arena;
  const PageLayout layout(RowLayout{16, 1});
  RowStore store(kTable, &layout, &arena);
  const double payload = sizeof(Key) + layout.row().payload_bytes();
  double worst = 0, sum = 0;
  constexpr Key kFirst = 10000, kEnd = 300000;
  for (Key key = 0; key < kEnd; ++key) {
    store.Insert(key, HashOf(key));
    const double share = static_cast<double>(store.memory_bytes()) / (store.rows() * payload);
    if (key < kFirst) continue;
    worst = std::max(worst, share);
    sum += share;
  }
  EXPECT_LT(worst, 1.22);
  EXPECT_LT(sum / (kEnd - kFirst), 1.15);
}

TEST(SlabArenaTest, BlocksAreAlignedAndApart) {
  SlabArena arena;
  std::vector<char*> blocks;
  size_t asked = 0;
  for (size_t size : {1ul, 64ul, 65ul, 100001ul, SlabArena::kSlabBytes, SlabArena::kSlabBytes + 1, 5 * SlabArena::kSlabBytes}) {
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(arena.Allocate(size));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % SlabArena::kBlockUnit, 0u);
      std::memset(blocks.back(), static_cast<int>(blocks.size()), size);
      asked += size;
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i][0], static_cast<char>(i + 1));
  EXPECT_GE(arena.slab_bytes(), asked);
  EXPECT_EQ(arena.slab_bytes() % SlabArena::kSlabBytes, 0u);
}

TEST(SlabArenaTest, WhatIsLeftOfASlabIsUsed) {
  SlabArena arena;
  arena.Allocate(SlabArena::kSlabBytes / 2 + 1);
  const size_t taken = arena.slab_bytes();
  EXPECT_EQ(arena.spare_bytes(), SlabArena::kSlabBytes / 2 - SlabArena::kBlockUnit);
  while (arena.spare_bytes() > 0) arena.Allocate(1);
  EXPECT_EQ(arena.slab_bytes(), taken);
  arena.Allocate(1);
  EXPECT_EQ(arena.slab_bytes(), taken + SlabArena::kSlabBytes);
}

// What growing stores leave of slabs is taken by others.
TEST(SlabArenaTest, GrowingStoresWasteLittle) {
  SlabArena arena;
  const PageLayout layout(RowLayout{16, 1});
  std::deque<RowStore> stores;
  for (uint32_t shard = 0; shard < 64; ++shard) stores.emplace_back(kTable, &layout, &arena);
  double worst = 0;
  for (Key key = 0; key < 8000; ++key) {
    size_t used = 0;
    for (RowStore& store : stores) {
      store.Insert(key, HashOf(key));
      used += store.memory_bytes();
    }
    if (key > 2000) worst = std::max(worst, static_cast<double>(arena.slab_bytes()) / used);
  }
  EXPECT_LT(worst, 1.12) << "with the slab that is begun";
  // What they give back is enough for others like them.
  const size_t slab_bytes = arena.slab_bytes();
  stores.clear();
  EXPECT_EQ(arena.spare_bytes(), arena.slab_bytes());
  for (uint32_t shard = 0; shard < 64; ++shard) stores.emplace_back(kTable, &layout, &arena);
  for (Key key = 0; key < 8000; ++key) {
    for (RowStore& store : stores) store.Insert(key, HashOf(key));
  }
  EXPECT_EQ(arena.slab_bytes(), slab_bytes);
}

}  // namespace
}  // namespace weir::server
