#include "client/held_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace weir::client {
namespace {

bool AllTables(uint32_t) { return true; }

using testing::ElementsAre;

constexpr uint32_t kDim = 2;
constexpr uint32_t kServers = 2;

// One table's batch, routed: `of_server` are the keys of each server.
BagBatch BatchOf(const std::vector<std::vector<Key>>& of_server) {
  BagBatch batch;
  TableBatch& table = batch.tables.emplace_back();
  for (const std::vector<Key>& keys : of_server) {
    table.keys.keys.insert(table.keys.keys.end(), keys.begin(), keys.end());
    table.keys.server_ends.push_back(static_cast<uint32_t>(table.keys.keys.size()));
  }
  // Every key once, from the last to the first.
  for (size_t slot = table.keys.keys.size(); slot-- > 0;) table.keys.slot_of.push_back(static_cast<uint32_t>(slot));
  batch.rows = table.keys.keys.size();
  return batch;
}

TEST(HeldRowsTest, NewRowsAreNumberedAndKnownOnesComeFirst) {
  HeldTables held(1, kServers, kDim, 100);
  std::vector<HeldTableBatch> placed;
  BagBatch batch = BatchOf({{3, 8, 9}, {4}});
  held.Place(AllTables, &batch, &placed);
  EXPECT_THAT(batch.tables[0].keys.keys, ElementsAre(3, 8, 9, 4));
  EXPECT_THAT(placed[0].numbers, ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(placed[0].ranges[0].begin_new, 0u);
  EXPECT_EQ(placed[0].ranges[0].values->size(), 3 * kDim);

  batch = BatchOf({{1, 2, 8, 9}, {4, 7}});
  held.Place(AllTables, &batch, &placed);
  EXPECT_THAT(batch.tables[0].keys.keys, ElementsAre(8, 9, 1, 2, 4, 7));
  EXPECT_THAT(placed[0].numbers, ElementsAre(1, 2, 3, 4, 0, 1));
  EXPECT_EQ(placed[0].ranges[0].begin_new, 2u);
  EXPECT_EQ(placed[0].ranges[0].first_new, 3u);
  EXPECT_EQ(placed[0].ranges[1].begin_new, 5u);
  // The way back from positions still leads to the same keys: they were 9 8 2 1, from the end: 7 4 9 8 2 1.
  std::vector<Key> keys;
  for (const uint32_t slot : batch.tables[0].keys.slot_of) keys.push_back(batch.tables[0].keys.keys[slot]);
  EXPECT_THAT(keys, ElementsAre(7, 4, 9, 8, 2, 1));
}

TEST(HeldRowsTest, WhenFullATableOfAServerBeginsAnewAndLookupsUnderWayKeepTheirValues) {
  HeldTables held(1, kServers, kDim, 3);
  std::vector<HeldTableBatch> first, second;
  BagBatch batch = BatchOf({{1, 2}, {5}});
  held.Place(AllTables, &batch, &first);
  (*first[0].ranges[0].values)[0] = 7;
  batch = BatchOf({{2, 3, 4}, {5}});
  held.Place(AllTables, &batch, &second);
  EXPECT_EQ(second[0].ranges[0].generation, first[0].ranges[0].generation + 1);
  EXPECT_EQ(second[0].ranges[0].begin_new, 0u) << "all of them are new";
  EXPECT_THAT(second[0].numbers, ElementsAre(0, 1, 2, 0));
  EXPECT_EQ((*first[0].ranges[0].values)[0], 7);
  EXPECT_NE(first[0].ranges[0].values, second[0].ranges[0].values);
  EXPECT_EQ(second[0].ranges[1].generation, first[0].ranges[1].generation) << "the other server's rows stay";
  EXPECT_EQ(second[0].ranges[1].begin_new, 4u);
}

TEST(HeldRowsTest, TablesDoNotShareNumbers) {
  HeldTables held(2, 1, kDim, 100);
  std::vector<HeldTableBatch> placed;
  BagBatch batch = BatchOf({{1, 2}});
  held.Place(AllTables, &batch, &placed);
  batch = BatchOf({{2}});
  batch.tables[0].table = 1;
  held.Place(AllTables, &batch, &placed);
  EXPECT_THAT(placed[0].numbers, ElementsAre(0));
  EXPECT_EQ(placed[0].ranges[0].begin_new, 0u);
}

}  // namespace
}  // namespace weir::client
