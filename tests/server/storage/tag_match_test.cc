#include "server/storage/tag_match.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::server {
namespace {

TEST(TagMatchTest, IsTheScalarMatch) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    alignas(64) uint8_t line[64];
    for (uint8_t& byte : line) byte = static_cast<uint8_t>(random() % (round % 3 == 0 ? 2 : 256));
    for (const uint8_t tag : {line[0], line[1], line[32], line[33], line[63], uint8_t{0}, uint8_t{255}}) {
      EXPECT_EQ(MatchTags(line, tag), MatchTagsScalar(line, tag));
    }
  }
}

TEST(TagMatchTest, TheFirstByteIsNoTag) {
  alignas(64) uint8_t line[64] = {7};
  EXPECT_EQ(MatchTags(line, 7), 0u);
  line[1] = line[63] = 7;
  EXPECT_EQ(MatchTags(line, 7), 1u | uint64_t{1} << 62);
}

}  // namespace
}  // namespace weir::server
