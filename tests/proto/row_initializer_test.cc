#include "proto/row_initializer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weir {
namespace {

std::unique_ptr<RowInitializer> Make(Initializer::Type type, double scale, uint64_t seed, uint32_t table) {
  Initializer settings;
  settings.set_type(type);
  settings.set_scale(scale);
  InitializerStream stream;
  stream.seed = seed;
  stream.table = table;
  return *MakeRowInitializer(settings, stream);
}

std::vector<float> Fill(const RowInitializer& initializer, Key key, size_t dim) {
  std::vector<float> weights(dim);
  initializer.Fill(key, absl::MakeSpan(weights));
  return weights;
}

TEST(RowInitializerTest, UniformIsTheKeyedStream) {
  const auto initializer = Make(Initializer::TYPE_UNIFORM, 0.05, 11, 3);
  for (Key key : {Key{0}, Key{1}, ~Key{0}}) {
    const std::vector<float> weights = Fill(*initializer, key, 8);
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(weights[i], static_cast<float>(0.05 * (2 * KeyedUniform(Mix64(Mix64(11, 3), key), i) - 1)));
    }
  }
}

TEST(RowInitializerTest, SeedTableAndKeyEachMatter) {
  const std::vector<float> weights = Fill(*Make(Initializer::TYPE_UNIFORM, 1, 1, 1), 1, 4);
  EXPECT_EQ(Fill(*Make(Initializer::TYPE_UNIFORM, 1, 1, 1), 1, 4), weights);
  EXPECT_NE(Fill(*Make(Initializer::TYPE_UNIFORM, 1, 2, 1), 1, 4), weights);
  EXPECT_NE(Fill(*Make(Initializer::TYPE_UNIFORM, 1, 1, 2), 1, 4), weights);
  EXPECT_NE(Fill(*Make(Initializer::TYPE_UNIFORM, 1, 1, 1), 2, 4), weights);
}

TEST(RowInitializerTest, UniformHasTheMomentsOfItsLaw) {
  const auto initializer = Make(Initializer::TYPE_UNIFORM, 0.5, 5, 0);
  constexpr int kRows = 20000;
  double sum = 0, squares = 0;
  for (Key key = 0; key < kRows; ++key) {
    const float weight = Fill(*initializer, key, 1)[0];
    ASSERT_LE(std::abs(weight), 0.5);
    sum += weight;
    squares += weight * weight;
  }
  EXPECT_NEAR(sum / kRows, 0, 5 * 0.5 / std::sqrt(3.0 * kRows));
  EXPECT_NEAR(squares / kRows, 0.25 / 3, 0.002);
}

TEST(RowInitializerTest, ConstantIsTheSameEverywhere) {
  EXPECT_EQ(Fill(*Make(Initializer::TYPE_CONSTANT, 0.75, 1, 2), 3, 3), (std::vector<float>{0.75f, 0.75f, 0.75f}));
}

TEST(RowInitializerTest, RefusesNoType) {
  EXPECT_EQ(MakeRowInitializer(Initializer(), {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
