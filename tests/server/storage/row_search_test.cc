#include "server/storage/row_search.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "server/storage/slab_arena.h"

namespace weir::server {
namespace {

constexpr uint32_t kStores = 3;

struct Place {
  uint32_t store = 0;
  uint32_t hash = 0;
};

Place PlaceOf(Key key) {
  const uint64_t hash = Mix64(0, key);
  return {static_cast<uint32_t>(hash % kStores), RowStore::StoreHash(hash)};
}

// Every wanted key is visited once, with the row that Find finds: of stores that are empty, half full and about to grow, where many rows
// are not at home, and of lists of all lengths about the group's.
TEST(RowSearchTest, FindsWhatFindFinds) {
  const PageLayout layout(RowLayout{16, 1});
  SlabArena arena;
  std::vector<std::unique_ptr<RowStore>> stores;
  for (uint32_t i = 0; i < kStores; ++i) stores.push_back(std::make_unique<RowStore>(0, &layout, &arena));
  std::mt19937_64 random(1);
  Key inserted = 0;
  for (const Key rows : {0, 1, 50, 3000, 5000, 20000}) {
    for (; inserted < rows; ++inserted) {
      const Place place = PlaceOf(inserted);
      *stores[place.store]->Insert(inserted, place.hash).weights = static_cast<float>(inserted);
    }
    for (const uint32_t count : {0, 1, 15, 16, 17, 31, 32, 33, 48, 49, 500}) {
      std::vector<Key> keys;
      std::vector<WantedRow> wanted;
      for (uint32_t i = 0; i < count; ++i) {
        keys.push_back(random() % (2 * rows + 10));
        wanted.push_back({i, PlaceOf(keys[i]).store, PlaceOf(keys[i]).hash});
      }
      std::vector<int> visits(count);
      FindRows<TouchedPart::kAll>(
          layout, wanted, [&](const WantedRow& row) { return keys[row.position]; },
          [&](const WantedRow& row) { return stores[row.shard].get(); },
          [&](const WantedRow& row, const Row& found) {
            ++visits[row.position];
            const Row expected = stores[row.shard]->Find(keys[row.position], row.hash);
            EXPECT_EQ(found.weights, expected.weights);
            EXPECT_EQ(found.slots, expected.slots);
            EXPECT_EQ(found.weights != nullptr, keys[row.position] < rows);
          });
      EXPECT_EQ(visits, std::vector<int>(count, 1));
    }
  }
}

}  // namespace
}  // namespace weir::server
