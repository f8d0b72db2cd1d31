#include "base/key_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weir {
namespace {

TEST(KeyIndexTest, NumbersKeysInTheOrderOfTheirFirstSight) {
  std::mt19937_64 random(1);
  KeyIndex index;
  for (const uint64_t range : {uint64_t{1}, uint64_t{50}, uint64_t{5000}, ~uint64_t{0}}) {
    index.Start(3000);
    std::map<Key, uint32_t> twin;
    for (int i = 0; i < 3000; ++i) {
      const Key key = range == ~uint64_t{0} ? random() : random() % range;
      const auto number = static_cast<uint32_t>(twin.size());
      const auto [it, is_new] = twin.emplace(key, number);
      ASSERT_EQ(index.Number(key, Mix64(key)), it->second);
    }
    ASSERT_EQ(index.keys().size(), twin.size());
    for (const auto& [key, number] : twin) EXPECT_EQ(index.keys()[number], key);
  }
}

// Equal hashes cost time, nothing else.
TEST(KeyIndexTest, HashesMayCollide) {
  KeyIndex index;
  index.Start(100);
  for (Key key = 0; key < 100; ++key) EXPECT_EQ(index.Number(key, 7), key);
  for (Key key = 0; key < 100; ++key) EXPECT_EQ(index.Number(key, 7), key);
}

}  // namespace
}  // namespace weir
