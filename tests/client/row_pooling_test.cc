#include "client/row_pooling.h"

#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "client/bag_batch.h"
#include "gtest/gtest.h"

namespace weir::client {
namespace {

const ShardMap kMap = MakeShardMap(256, 2);

std::vector<TableInfo> Tables(size_t count, uint32_t dim) {
  std::vector<TableInfo> tables;
  for (size_t i = 0; i < count; ++i) tables.push_back({"C" + std::to_string(i + 1), dim});
  return tables;
}

// Features 0 and 2 share table 1, feature 1 has table 0 and one key each; bags of 0 to 3 keys, with duplicates.
std::vector<FeatureKeys> DrawFeatures(uint32_t samples, std::mt19937_64* random) {
  std::vector<FeatureKeys> features(3);
  features[0].table = features[2].table = 1;
  for (uint32_t i = 0; i < samples; ++i) features[1].keys.push_back((*random)() % 20);
  for (const int feature : {0, 2}) {
    for (uint32_t i = 0; i < samples; ++i) {
      for (uint64_t keys = (*random)() % 4; keys > 0; --keys) features[feature].keys.push_back((*random)() % 10);
      features[feature].ends.push_back(static_cast<uint32_t>(features[feature].keys.size()));
    }
  }
  return features;
}

float RowValue(uint32_t table, Key key, uint32_t column) { return std::sin(1.0f + table * 17 + key * 3 + column); }

class PoolingTest : public testing::TestWithParam<std::tuple<uint32_t, KeysSent>> {};

TEST_P(PoolingTest, EqualsAScalarLoop) {
  const auto [dim, sent] = GetParam();
  const uint32_t samples = 37;
  std::mt19937_64 random(5);
  const std::vector<FeatureKeys> features = DrawFeatures(samples, &random);
  const std::vector<TableInfo> tables = Tables(2, dim);
  BagRouter router(kMap, tables, dim);
  BagBatch batch;
  ASSERT_TRUE(router.Route(samples, features, sent, &batch).ok());
  ASSERT_EQ(batch.tables.size(), 2u);
  std::vector<float> rows(batch.rows * dim);
  for (const TableBatch& table : batch.tables) {
    for (size_t slot = 0; slot < table.keys.keys.size(); ++slot) {
      for (uint32_t column = 0; column < dim; ++column) {
        rows[(table.first_row + slot) * dim + column] = RowValue(table.table, table.keys.keys[slot], column);
      }
    }
  }
  std::vector<float> pooled(samples * 3 * dim, NAN);
  PoolRows(batch, dim, rows, absl::MakeSpan(pooled));
  std::vector<float> row_gradients(rows.size(), NAN);
  SumGradients(batch, dim, pooled, absl::MakeSpan(row_gradients));
  std::vector<std::map<Key, std::vector<float>>> expected_gradients(2);
  for (size_t feature = 0; feature < features.size(); ++feature) {
    uint32_t begin = 0;
    for (uint32_t sample = 0; sample < samples; ++sample) {
      const uint32_t end = features[feature].ends.empty() ? sample + 1 : features[feature].ends[sample];
      const float* const bag = &pooled[(sample * 3 + feature) * dim];
      for (uint32_t column = 0; column < dim; ++column) {
        float sum = 0;
        for (uint32_t i = begin; i < end; ++i) sum += RowValue(features[feature].table, features[feature].keys[i], column);
        ASSERT_EQ(bag[column], sum);
      }
      for (uint32_t i = begin; i < end; ++i) {
        std::vector<float>& row = expected_gradients[features[feature].table][features[feature].keys[i]];
        row.resize(dim);
        for (uint32_t column = 0; column < dim; ++column) row[column] += bag[column];
      }
      begin = end;
    }
  }
  for (const TableBatch& table : batch.tables) {
    std::map<Key, std::vector<float>> sums;
    for (size_t slot = 0; slot < table.keys.keys.size(); ++slot) {
      std::vector<float>& row = sums[table.keys.keys[slot]];
      row.resize(dim);
      for (uint32_t column = 0; column < dim; ++column) row[column] += row_gradients[(table.first_row + slot) * dim + column];
    }
    ASSERT_EQ(sums.size(), expected_gradients[table.table].size());
    for (const auto& [key, row] : sums) {
      for (uint32_t column = 0; column < dim; ++column) {
        if (sent == KeysSent::kUnique) {
          ASSERT_EQ(row[column], expected_gradients[table.table][key][column]);
        } else {
          ASSERT_NEAR(row[column], expected_gradients[table.table][key][column], 1e-4);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, PoolingTest,
                         testing::Combine(testing::Values(1u, 7u, 8u, 16u, 19u),
                                          testing::Values(KeysSent::kUnique, KeysSent::kEveryOccurrence)));

TEST(BagRouterTest, RefusesWhatDoesNotFit) {
  std::vector<TableInfo> tables = Tables(2, 4);
  tables[1].dim = 8;
  BagRouter router(kMap, tables, 4);
  BagBatch batch;
  const auto route = [&](uint32_t samples, FeatureKeys feature) {
    return router.Route(samples, std::vector<FeatureKeys>{std::move(feature)}, KeysSent::kUnique, &batch);
  };
  EXPECT_TRUE(route(2, {0, {1, 2}, {}}).ok());
  EXPECT_TRUE(route(2, {0, {1, 2}, {0, 2}}).ok());
  EXPECT_TRUE(route(0, {0, {}, {}}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(route(2, {2, {1, 2}, {}})));
  EXPECT_TRUE(absl::IsInvalidArgument(route(2, {1, {1, 2}, {}})));
  EXPECT_TRUE(absl::IsInvalidArgument(route(3, {0, {1, 2}, {}})));
  EXPECT_TRUE(absl::IsInvalidArgument(route(2, {0, {1, 2}, {1, 3}})));
  EXPECT_TRUE(absl::IsInvalidArgument(route(3, {0, {1, 2}, {2, 1, 2}})));
  EXPECT_TRUE(absl::IsInvalidArgument(route(1, {0, {1, 2}, {1, 2}})));
}

// 2048 samples x 26 features, skewed keys: prints what a step costs, and bounds it loosely (a busy or sanitized machine must pass).
TEST(PoolingCostTest, RoutesPoolsAndSumsABatchQuickly) {
  constexpr uint32_t kSamples = 2048, kFeatures = 26, kDim = 16;
  std::mt19937_64 random(11);
  std::vector<FeatureKeys> features(kFeatures);
  for (uint32_t feature = 0; feature < kFeatures; ++feature) {
    features[feature].table = feature;
    for (uint32_t i = 0; i < kSamples; ++i) {
      // Powers of a uniform number: many hits on few keys, as ids of click data.
      const double uniform = (random() >> 11) * 0x1.0p-53;
      const Key id = static_cast<Key>(std::pow(uniform, 4) * (feature % 3 == 0 ? 1e7 : feature % 3 == 1 ? 1e4 : 50));
      features[feature].keys.push_back(Mix64(feature, id));
    }
  }
  const std::vector<TableInfo> tables = Tables(kFeatures, kDim);
  BagRouter router(kMap, tables, kDim);
  BagBatch batch;
  std::vector<float> rows, pooled(kSamples * kFeatures * kDim, 1.0f);
  double route_ms = 1e9, pool_ms = 1e9, sum_ms = 1e9;
  const auto now = []() { return std::chrono::steady_clock::now(); };
  const auto ms = [](auto from, auto to) { return std::chrono::duration<double, std::milli>(to - from).count(); };
  for (int i = 0; i < 20; ++i) {
    const auto t0 = now();
    ASSERT_TRUE(router.Route(kSamples, features, KeysSent::kUnique, &batch).ok());
    const auto t1 = now();
    rows.resize(batch.rows * kDim);
    const auto t2 = now();
    PoolRows(batch, kDim, rows, absl::MakeSpan(pooled));
    const auto t3 = now();
    SumGradients(batch, kDim, pooled, absl::MakeSpan(rows));
    const auto t4 = now();
    route_ms = std::min(route_ms, ms(t0, t1));
    pool_ms = std::min(pool_ms, ms(t2, t3));
    sum_ms = std::min(sum_ms, ms(t3, t4));
  }
  std::cout << "2048 x 26 x 16, " << batch.rows << " distinct keys: route " << route_ms << " ms, pool " << pool_ms << " ms, sum " << sum_ms
            << " ms\n";
  EXPECT_LT(route_ms + pool_ms + sum_ms, 200);
}

}  // namespace
}  // namespace weir::client
