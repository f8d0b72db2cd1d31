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
  RowStore store(kTable, RowLayout{3, 2}, &arena);
  std::map<Key, std::vector<float>> twin;
  std::mt19937_64 random(1);
  for (int i = 0; i < 60000; ++i) {
    const Key key = AwkwardKey(&random);
    float* row = store.Find(key, HashOf(key));
    ASSERT_EQ(row != nullptr, twin.count(key) == 1) << key;
    if (row == nullptr) {
      row = store.Insert(key, HashOf(key));
      twin[key] = {0, 0, 0, 0, 0};
      std::memset(row, 0, 5 * sizeof(float));
    }
    ASSERT_EQ(std::vector<float>(row, row + 5), twin[key]);
    for (int d = 0; d < 5; ++d) row[d] = twin[key][d] = static_cast<float>(random() % 1000);
  }
  EXPECT_EQ(store.rows(), twin.size());
  size_t seen = 0;
  store.ForEach([&](const char* row) {
    Key key;
    float values[5];
    std::memcpy(&key, row, sizeof(key));
    std::memcpy(values, row + sizeof(key), sizeof(values));
    EXPECT_EQ(std::vector<float>(values, values + 5), twin.at(key));
    ++seen;
  });
  EXPECT_EQ(seen, twin.size());
}

TEST(RowStoreTest, EveryKeyIsLegal) {
  SlabArena arena;
  RowStore store(kTable, RowLayout{1, 0}, &arena);
  const std::vector<Key> keys = {0, ~Key{0}, 1, Key{1} << 63};
  for (Key key : keys) EXPECT_EQ(store.Find(key, HashOf(key)), nullptr);
  for (size_t i = 0; i < keys.size(); ++i) *store.Insert(keys[i], HashOf(keys[i])) = static_cast<float>(i);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(*store.Find(keys[i], HashOf(keys[i])), static_cast<float>(i));
}

// The index keeps only some bits of the hash: rows of the same bits must be told apart by their key.
TEST(RowStoreTest, KeysOfTheSameHashAreDifferentRows) {
  SlabArena arena;
  RowStore store(kTable, RowLayout{1, 0}, &arena);
  constexpr uint32_t kHash = 0xffffffff;  // its home is the last word of the index: probing wraps around
  for (Key key = 0; key < 12; ++key) *store.Insert(key, kHash) = static_cast<float>(key);
  for (Key key = 0; key < 12; ++key) EXPECT_EQ(*store.Find(key, kHash), static_cast<float>(key));
  EXPECT_EQ(store.Find(12, kHash), nullptr);
}

TEST(RowStoreTest, RowsNeverMove) {
  SlabArena arena;
  RowStore store(kTable, RowLayout{2, 0}, &arena);
  std::vector<float*> rows;
  for (Key key = 0; key < 5000; ++key) rows.push_back(store.Insert(key, HashOf(key)));
  for (Key key = 0; key < 5000; ++key) EXPECT_EQ(store.Find(key, HashOf(key)), rows[key]);
}

TEST(RowStoreTest, PrefetchOfAnythingIsHarmless) {
  SlabArena arena;
  RowStore store(kTable, RowLayout{2, 0}, &arena);
  store.PrefetchIndex(7);
  store.PrefetchRow(7);
  store.Insert(1, HashOf(1));
  for (uint32_t hash : {0u, HashOf(1), ~0u}) {
    store.PrefetchIndex(hash);
    store.PrefetchRow(hash);
  }
  EXPECT_EQ(store.rows(), 1u);
}

// At the worst fill of the index, just after it has doubled, and at the best.
TEST(RowStoreTest, TakesLessThanThirtyPercentBesideThePayload) {
  SlabArena arena;
  const RowLayout layout{16, 1};
  RowStore store(kTable, layout, &arena);
  double worst = 0;
  for (Key key = 0; key < 300000; ++key) {
    store.Insert(key, HashOf(key));
    if (key < 10000) continue;
    worst = std::max(worst, static_cast<double>(store.memory_bytes()) / (store.rows() * layout.payload_bytes()));
  }
  EXPECT_LT(worst, 1.3);
}

TEST(SlabArenaTest, BlocksAreZeroedAlignedAndApart) {
  SlabArena arena;
  std::vector<char*> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(arena.Allocate(100001));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % 8, 0u);
    for (int at : {0, 50000, 100000}) EXPECT_EQ(blocks.back()[at], 0);
    std::memset(blocks.back(), i + 1, 100001);
  }
  for (int i = 0; i < 100; ++i) {
    for (int at : {0, 50000, 100000}) EXPECT_EQ(blocks[i][at], i + 1);
  }
  EXPECT_GE(arena.slab_bytes(), 100u * 100001u);
  EXPECT_EQ(arena.slab_bytes() % SlabArena::kSlabBytes, 0u);
  EXPECT_NE(arena.Allocate(SlabArena::kSlabBytes), nullptr);
}

}  // namespace
}  // namespace weir::server
