#include "client/key_router.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace weir::client {
namespace {

constexpr Key kLastKey = std::numeric_limits<Key>::max();

// What RouteUnique must answer, from ordered containers.
RoutedKeys ReferenceRoute(const ShardMap& map, uint32_t table, const std::vector<Key>& keys) {
  std::set<std::pair<uint32_t, Key>> distinct;
  for (const Key key : keys) distinct.emplace(OwnerOf(map, table, key), key);
  RoutedKeys routed;
  routed.server_ends.assign(ServersOf(map), 0);
  std::map<Key, uint32_t> slot_of_key;
  for (const auto& [server, key] : distinct) {
    slot_of_key[key] = static_cast<uint32_t>(routed.keys.size());
    routed.keys.push_back(key);
    for (uint32_t later = server; later < ServersOf(map); ++later) routed.server_ends[later] = static_cast<uint32_t>(routed.keys.size());
  }
  for (const Key key : keys) routed.slot_of.push_back(slot_of_key[key]);
  return routed;
}

struct Draw {
  size_t count;
  Key modulus;  // 0: any 64-bit key
};

std::vector<Key> DrawKeys(const Draw& draw, std::mt19937_64* random) {
  std::vector<Key> keys(draw.count);
  for (Key& key : keys) key = draw.modulus == 0 ? (*random)() : (*random)() % draw.modulus;
  return keys;
}

class RouteTest : public testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {
 protected:
  ShardMap map() const { return MakeShardMap(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(RouteTest, UniqueEqualsTheReference) {
  std::mt19937_64 random(7);
  KeyRouter router(map());
  RoutedKeys routed;
  // The sizes lie around the one from which a radix sort is used; the router and `routed` are reused on purpose.
  for (const Draw& draw : {Draw{0, 1}, Draw{1, 0}, Draw{127, 0}, Draw{128, 0}, Draw{129, 0}, Draw{3000, 0}, Draw{3000, 50}, Draw{3000, 1},
                           Draw{3000, 70000}, Draw{5, 1}, Draw{20000, 1 << 14}}) {
    std::vector<Key> keys = DrawKeys(draw, &random);
    if (draw.count >= 127) {
      keys[3] = kLastKey;
      keys[9] = 0;
      keys[draw.count - 1] = kLastKey;
    }
    const uint32_t table = static_cast<uint32_t>(random() % 26);
    router.RouteUnique(table, keys, &routed);
    const RoutedKeys expected = ReferenceRoute(map(), table, keys);
    EXPECT_EQ(routed.keys, expected.keys);
    EXPECT_EQ(routed.server_ends, expected.server_ends);
    EXPECT_EQ(routed.slot_of, expected.slot_of);
  }
}

TEST_P(RouteTest, AllKeepsEveryOccurrenceInOrder) {
  std::mt19937_64 random(8);
  KeyRouter router(map());
  RoutedKeys routed;
  for (const Draw& draw : {Draw{0, 1}, Draw{1, 0}, Draw{2000, 100}}) {
    const std::vector<Key> keys = DrawKeys(draw, &random);
    router.RouteAll(3, keys, &routed);
    ASSERT_EQ(routed.keys.size(), keys.size());
    ASSERT_EQ(routed.server_ends.size(), ServersOf(map()));
    EXPECT_EQ(routed.server_ends.back(), keys.size());
    std::vector<uint32_t> next(ServersOf(map()));
    for (uint32_t server = 0; server < ServersOf(map()); ++server) next[server] = routed.server_begin(server);
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(routed.slot_of[i], next[OwnerOf(map(), 3, keys[i])]++);
      EXPECT_EQ(routed.keys[routed.slot_of[i]], keys[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Maps, RouteTest,
                         testing::Values(std::make_tuple(1u, 1u), std::make_tuple(256u, 2u), std::make_tuple(256u, 3u),
                                         std::make_tuple(1000u, 7u), std::make_tuple(1024u, 1024u)));

TEST(KeyRouterTest, AllEqualKeysShareOneSlot) {
  KeyRouter router(MakeShardMap(256, 2));
  RoutedKeys routed;
  router.RouteUnique(0, std::vector<Key>(5000, kLastKey), &routed);
  EXPECT_EQ(routed.keys, std::vector<Key>{kLastKey});
  EXPECT_TRUE(std::all_of(routed.slot_of.begin(), routed.slot_of.end(), [](uint32_t slot) { return slot == 0; }));
}

TEST(KeyRouterTest, TheSameKeyOfTwoTablesMayHaveTwoOwners) {
  const ShardMap map = MakeShardMap(256, 8);
  uint32_t differ = 0;
  for (Key key = 0; key < 1000; ++key) differ += OwnerOf(map, 0, key) != OwnerOf(map, 1, key);
  // 7 of 8 by chance; the standard deviation is 10.
  EXPECT_NEAR(differ, 875, 60);
}

}  // namespace
}  // namespace weir::client
