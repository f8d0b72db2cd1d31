#include "worker/dense_update.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace weir::worker {
namespace {

std::vector<float> Random(size_t size, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// Every length round the vector width, against scalar double arithmetic.
TEST(DenseUpdateTest, EqualsTheScalarFormulas) {
  for (size_t size = 0; size <= 67; ++size) {
    const std::vector<float> gradients = Random(size, 1);
    const std::vector<float> before = Random(size, 2);

    std::vector<float> sgd = before;
    UpdateSgd(0.3f, gradients, absl::MakeSpan(sgd));
    for (size_t i = 0; i < size; ++i) EXPECT_NEAR(sgd[i], before[i] - 0.3 * gradients[i], 1e-6);

    std::vector<float> adagrad = before;
    std::vector<float> accumulator(size, 0.5f);
    UpdateAdagrad({0.25f, 0.1f, 1e-3f}, gradients, absl::MakeSpan(accumulator), absl::MakeSpan(adagrad));
    for (size_t i = 0; i < size; ++i) {
      const double g = 0.25 * gradients[i];
      EXPECT_NEAR(accumulator[i], 0.5 + g * g, 1e-6);
      EXPECT_NEAR(adagrad[i], before[i] - 0.1 * g / (std::sqrt(0.5 + g * g) + 1e-3), 1e-6);
    }

    std::vector<float> adam = before;
    std::vector<float> mean(size, 0.2f), square(size, 0.3f);
    UpdateAdam({0.25f, 0.9f, 0.99f, 0.01f, 2.0f, 1e-3f}, gradients, {absl::MakeSpan(mean), absl::MakeSpan(square)}, absl::MakeSpan(adam));
    for (size_t i = 0; i < size; ++i) {
      const double g = 0.25 * gradients[i];
      const double m = 0.9 * 0.2 + 0.1 * g, v = 0.99 * 0.3 + 0.01 * g * g;
      EXPECT_NEAR(mean[i], m, 1e-6);
      EXPECT_NEAR(square[i], v, 1e-6);
      EXPECT_NEAR(adam[i], before[i] - 0.01 * m / (std::sqrt(v) * 2 + 1e-3), 1e-6);
    }
  }
}

}  // namespace
}  // namespace weir::worker
