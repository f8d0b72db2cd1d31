#include "compression/low_rank_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

using Floats = std::vector<float>;

double Norm(absl::Span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares);
}

// A sum of `rank` outer products.
Floats LowRank(const LowRankShape& shape, uint32_t rank, uint32_t seed) {
  Floats matrix(size_t{shape.rows} * shape.columns);
  for (uint32_t k = 0; k < rank; ++k) {
    const Floats left = NormalValues(shape.rows, seed + 2 * k), right = NormalValues(shape.columns, seed + 2 * k + 1);
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] += left[i / shape.columns] * right[i % shape.columns];
  }
  return matrix;
}

// The workers of a job, whose factors are added in rank order.
class Workers {
 public:
  Workers(size_t count, const LowRankShape& shape) {
    for (size_t i = 0; i < count; ++i) layers_.emplace_back(shape, 42);
  }

  // Replaces each gradient by what its worker got.
  void Reduce(std::vector<Floats>* gradients) {
    Floats p(layers_[0].p_size()), q(layers_[0].q_size());
    Floats p_sum(p.size()), q_sum(q.size());
    for (size_t i = 0; i < layers_.size(); ++i) {
      ASSERT_TRUE(layers_[i].ProjectRows((*gradients)[i], absl::MakeSpan(p)).ok());
      for (size_t j = 0; j < p.size(); ++j) p_sum[j] += p[j];
    }
    for (LowRankLayer& layer : layers_) {
      ASSERT_TRUE(layer.ProjectColumns(p_sum, absl::MakeSpan(q)).ok());
      for (size_t j = 0; j < q.size(); ++j) q_sum[j] += q[j];
    }
    for (size_t i = 0; i < layers_.size(); ++i) ASSERT_TRUE(layers_[i].Reconstruct(q_sum, absl::MakeSpan((*gradients)[i])).ok());
  }
  const LowRankLayer& layer(size_t rank) const { return layers_[rank]; }

 private:
  std::vector<LowRankLayer> layers_;
};

TEST(LowRankLayerTest, ASumOfThatRankArrivesWholeInOneStep) {
  for (const LowRankShape& shape : {LowRankShape{40, 30, 1}, LowRankShape{8, 100, 3}, LowRankShape{65, 17, 4}}) {
    Workers workers(1, shape);
    std::vector<Floats> gradients = {LowRank(shape, shape.rank, 1)};
    const Floats expected = gradients[0];
    workers.Reduce(&gradients);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(gradients[0][i], expected[i], 1e-4 * Norm(expected)) << i;
    EXPECT_LT(Norm(workers.layer(0).residual()), 1e-4 * Norm(expected));
  }
}

TEST(LowRankLayerTest, WhatArrivedPlusAllResidualsIsTheSumOfTheGradientsAndAllGetTheSameBits) {
  const LowRankShape shape = {33, 50, 2};
  constexpr size_t kWorkers = 3;
  Workers workers(kWorkers, shape);
  std::vector<double> sum(33 * 50), arrived(sum.size());
  for (uint32_t step = 0; step < 50; ++step) {
    std::vector<Floats> gradients;
    for (uint32_t rank = 0; rank < kWorkers; ++rank) gradients.push_back(NormalValues(sum.size(), step * kWorkers + rank));
    for (const Floats& gradient : gradients) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    workers.Reduce(&gradients);
    EXPECT_EQ(gradients[1], gradients[0]);
    EXPECT_EQ(gradients[2], gradients[0]);
    for (size_t i = 0; i < sum.size(); ++i) {
      arrived[i] += gradients[0][i];
      double held = 0;
      for (size_t rank = 0; rank < kWorkers; ++rank) held += workers.layer(rank).residual()[i];
      ASSERT_NEAR(arrived[i] + held, sum[i], 1e-4 * (step + 1)) << step << " " << i;
    }
  }
}

// Warm start: on one matrix over and over, the directions become its largest, and by the residual the mean becomes the matrix.
TEST(LowRankLayerTest, ARepeatedGradientArrivesOnAverage) {
  const LowRankShape shape = {20, 30, 2};
  Workers workers(1, shape);
  const Floats gradient = NormalValues(600, 3);
  Floats mean(600);
  constexpr int kSteps = 400;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Floats> gradients = {gradient};
    workers.Reduce(&gradients);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += gradients[0][i] / kSteps;
  }
  for (size_t i = 0; i < mean.size(); ++i) mean[i] -= gradient[i];
  EXPECT_LT(Norm(mean), 0.05 * Norm(gradient));
}

TEST(LowRankLayerTest, LowerRankAndZeroGradientsDoNoHarm) {
  const LowRankShape shape = {30, 30, 4};
  Workers workers(2, shape);
  for (uint32_t step = 0; step < 10; ++step) {
    const Floats gradient = LowRank(shape, step % 3, step);  // rank 0: all zero
    std::vector<Floats> gradients = {gradient, gradient};
    workers.Reduce(&gradients);
    for (size_t i = 0; i < gradient.size(); ++i) ASSERT_NEAR(gradients[0][i], 2 * gradient[i], 1e-4 * Norm(gradient) + 1e-4) << step;
  }
}

// What is left of a direction that the ones before it hold is rounding error, which must not count as a direction of its own.
TEST(LowRankLayerTest, DirectionsThatNoGradientHasAreLeftOut) {
  const LowRankShape shape = {30, 30, 3};
  LowRankLayer layer(shape, 1);
  Floats p(layer.p_size()), q(layer.q_size());
  ASSERT_TRUE(layer.ProjectRows(LowRank(shape, 1, 5), absl::MakeSpan(p)).ok());
  ASSERT_TRUE(layer.ProjectColumns(p, absl::MakeSpan(q)).ok());
  EXPECT_GT(Norm(absl::MakeSpan(q).first(30)), 1);
  EXPECT_EQ(Norm(absl::MakeSpan(q).subspan(30)), 0);
}

TEST(LowRankLayerTest, NotFiniteIsRefusedAndChangesNothing) {
  const LowRankShape shape = {10, 12, 1};
  LowRankLayer layer(shape, 1), untouched(shape, 1);
  Floats gradient = NormalValues(120, 1), p(10), expected(10), q(12);
  gradient[77] = std::numeric_limits<float>::quiet_NaN();
  const absl::Status status = layer.ProjectRows(gradient, absl::MakeSpan(p));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("gradient 77 of 120"), std::string::npos) << status;
  gradient[77] = 1;
  ASSERT_TRUE(layer.ProjectRows(gradient, absl::MakeSpan(p)).ok());
  ASSERT_TRUE(untouched.ProjectRows(gradient, absl::MakeSpan(expected)).ok());
  EXPECT_EQ(p, expected);
  p[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(layer.ProjectColumns(p, absl::MakeSpan(q)).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::compression
