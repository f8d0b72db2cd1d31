#include "client/call_splitter.h"

#include <algorithm>
#include <random>
#include <vector>

#include "base/limits.h"
#include "gtest/gtest.h"

namespace weir::client {
namespace {

std::vector<TableBatch> MakeBatches(const std::vector<size_t>& sizes, const ShardMap& map) {
  std::mt19937_64 random(3);
  KeyRouter router(map);
  std::vector<TableBatch> batches;
  for (const size_t size : sizes) {
    std::vector<Key> keys(size);
    for (Key& key : keys) key = random();
    batches.push_back({static_cast<uint32_t>(batches.size()), 0, {}});
    router.RouteUnique(batches.back().table, keys, &batches.back().keys);
  }
  return batches;
}

TEST(SplitCallsTest, PartsCoverEverySlotOnceAndStayBelowTheTarget) {
  const std::vector<TableBatch> batches = MakeBatches({700, 0, 3, 1500, 1}, MakeShardMap(256, 3));
  for (const size_t target : {1u, 100u, 1000u, 1u << 20}) {
    const auto parts = SplitCalls(batches, {3, 10, target});
    ASSERT_TRUE(parts.ok()) << parts.status();
    std::vector<uint32_t> next_slot(batches.size(), 0);
    uint32_t server = 0, part = 0;
    for (const CallPart& call : *parts) {
      if (call.server != server) {
        EXPECT_EQ(call.server, ++server);
        part = 0;
      }
      EXPECT_EQ(call.part, part++);
      size_t keys = 0;
      for (const KeyRun& run : call.runs) {
        EXPECT_LT(run.begin, run.end);
        EXPECT_EQ(run.begin, next_slot[run.batch]);
        EXPECT_GE(run.begin, batches[run.batch].keys.server_begin(server));
        EXPECT_LE(run.end, batches[run.batch].keys.server_ends[server]);
        next_slot[run.batch] = run.end;
        keys += run.size();
      }
      EXPECT_LE(keys * 10, std::max<size_t>(target, 10));
    }
    EXPECT_EQ(server, 2u);
    for (size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(next_slot[i], batches[i].keys.keys.size());
  }
}

TEST(SplitCallsTest, AServerWithoutKeysGetsOneEmptyPart) {
  const auto parts = SplitCalls({}, {2, 10, 1000});
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 2u);
  for (const CallPart& part : *parts) {
    EXPECT_EQ(part.parts, 1u);
    EXPECT_TRUE(part.runs.empty());
  }
}

TEST(SplitCallsTest, PartsAreEven) {
  const std::vector<TableBatch> batches = MakeBatches({1001}, MakeShardMap(1, 1));
  const auto parts = SplitCalls(batches, {1, 1, 1000});
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].runs[0].size(), 501u);
  EXPECT_EQ((*parts)[1].runs[0].size(), 500u);
}

TEST(SplitCallsTest, TooManyPartsAreRefused) {
  const std::vector<TableBatch> most = MakeBatches({kPartsMax}, MakeShardMap(1, 1));
  EXPECT_TRUE(SplitCalls(most, {1, 1, 1}).ok());
  const std::vector<TableBatch> over = MakeBatches({kPartsMax + 1}, MakeShardMap(1, 1));
  EXPECT_TRUE(absl::IsResourceExhausted(SplitCalls(over, {1, 1, 1}).status()));
}

}  // namespace
}  // namespace weir::client
