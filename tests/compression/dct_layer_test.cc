#include "compression/dct_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "compression/half.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

using Frames = std::vector<std::string>;

std::vector<float> Decoded(const Frames& frames, const std::vector<uint32_t>& slice_ends) {
  std::vector<float> out(slice_ends.back());
  uint32_t begin = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const absl::Status status = DecodeInto(frames[i], absl::MakeSpan(out).subspan(begin, slice_ends[i] - begin));
    EXPECT_TRUE(status.ok()) << status;
    begin = slice_ends[i];
  }
  return out;
}

// Algorithm 1 of the paper, word for word: one layer, double where it does not compare.
class PaperLayer {
 public:
  PaperLayer(size_t size, DctOptions options) : options_(options), error_(size) {}

  std::vector<float> Send(const std::vector<float>& gradient) {
    std::vector<float> w(gradient.size()), sent(gradient.size(), 0.0f);
    for (size_t i = 0; i < w.size(); ++i) w[i] = gradient[i] + error_[i];
    if (step_++ % options_.refresh_every == 0) {
      std::vector<float> sorted;
      for (const float value : w) sorted.push_back(std::fabs(value));
      std::sort(sorted.begin(), sorted.end());
      const size_t rank = static_cast<size_t>(std::floor(w.size() * options_.sparsity));
      threshold_ = rank == 0 ? 0 : sorted[rank - 1];
      ++refreshes_;
    }
    for (size_t i = 0; i < w.size(); ++i) {
      if (std::fabs(w[i]) >= threshold_ && w[i] != 0) sent[i] = w[i];
      error_[i] = w[i] - sent[i];
    }
    return sent;
  }

  float threshold() const { return threshold_; }
  int refreshes() const { return refreshes_; }
  const std::vector<float>& error() const { return error_; }

 private:
  const DctOptions options_;
  std::vector<float> error_;
  float threshold_ = 0;
  uint64_t step_ = 0;
  int refreshes_ = 0;
};

TEST(DctLayerTest, IsAlgorithmOneOfThePaper) {
  for (const double sparsity : {0.0, 0.5, 0.9, 0.99}) {
    const DctOptions options{sparsity, 5, ValueType::kFp32};
    DctLayer layer(1000, 0, options);
    PaperLayer paper(1000, options);
    for (uint32_t step = 0; step < 23; ++step) {
      const std::vector<float> gradient = NormalValues(1000, step);
      Frames frames;
      ASSERT_TRUE(layer.Encode(gradient, {1000}, &frames).ok());
      layer.Commit();
      EXPECT_EQ(Decoded(frames, {1000}), paper.Send(gradient));
      EXPECT_EQ(layer.stats().threshold, paper.threshold());
      EXPECT_EQ(std::vector<float>(layer.residual().begin(), layer.residual().end()), paper.error());
    }
    EXPECT_EQ(paper.refreshes(), 5);  // ceil(23 / 5)
  }
}

TEST(DctLayerTest, ThresholdIsRenewedEveryRefreshSteps) {
  DctLayer layer(100, 0, {0.9, 4, ValueType::kFp32});
  double threshold = -1;
  int refreshes = 0;
  for (uint32_t step = 0; step < 10; ++step) {
    std::vector<float> gradient = NormalValues(100, step);
    for (float& value : gradient) value *= static_cast<float>(step + 1);
    Frames frames;
    ASSERT_TRUE(layer.Encode(gradient, {100}, &frames).ok());
    layer.Commit();
    EXPECT_EQ(layer.stats().threshold != threshold, step % 4 == 0) << step;
    refreshes += layer.stats().threshold != threshold;
    threshold = layer.stats().threshold;
  }
  EXPECT_EQ(refreshes, 3);
}

// DESIGN: what was sent and acknowledged plus the residual is the sum of the gradients.
TEST(DctLayerTest, NothingIsLostUnderCommitAndRollback) {
  for (const ValueType type : {ValueType::kFp32, ValueType::kFp16, ValueType::kBf16, ValueType::kInt8, ValueType::kFp8}) {
    std::mt19937 random(7);
    DctLayer layer(500, 0, {0.9, 3, type});
    std::vector<double> gradients(500), sent(500);
    for (uint32_t step = 0; step < 200; ++step) {
      const std::vector<float> gradient = NormalValues(500, step);
      const std::vector<float> before(layer.residual().begin(), layer.residual().end());
      Frames frames;
      ASSERT_TRUE(layer.Encode(gradient, {500}, &frames).ok());
      ASSERT_EQ(std::vector<float>(layer.residual().begin(), layer.residual().end()), before);  // only settling changes it
      const bool acknowledged = random() % 3 != 0;
      acknowledged ? layer.Commit() : layer.Rollback();
      const std::vector<float> decoded = Decoded(frames, {500});
      for (size_t i = 0; i < 500; ++i) {
        gradients[i] += gradient[i];
        if (acknowledged) sent[i] += decoded[i];
        // Each step adds at most two roundings of a number below 100.
        ASSERT_NEAR(sent[i] + layer.residual()[i], gradients[i], 1e-5 * (step + 1)) << step;
      }
    }
  }
}

TEST(DctLayerTest, RollbackKeepsEveryBit) {
  DctLayer layer(64, 0, {0.5, 1, ValueType::kFp16});
  const std::vector<float> gradient = NormalValues(64, 1);
  Frames frames;
  ASSERT_TRUE(layer.Encode(gradient, {64}, &frames).ok());
  layer.Rollback();
  EXPECT_EQ(std::vector<float>(layer.residual().begin(), layer.residual().end()), gradient);
}

TEST(DctLayerTest, SparsityZeroSendsTheGradientBitForBit) {
  DctLayer layer(300, 0, {0, 1, ValueType::kFp32});
  for (uint32_t step = 0; step < 5; ++step) {
    std::vector<float> gradient = NormalValues(300, step);
    gradient[5] = std::numeric_limits<float>::denorm_min();
    gradient[6] = std::numeric_limits<float>::lowest();
    gradient[7] = 0;
    Frames frames;
    ASSERT_TRUE(layer.Encode(gradient, {300}, &frames).ok());
    layer.Commit();
    const std::vector<float> decoded = Decoded(frames, {300});
    for (size_t i = 0; i < 300; ++i) ASSERT_EQ(BitsOfFloat(decoded[i]), BitsOfFloat(gradient[i]));
    EXPECT_EQ(layer.stats().residual_norm, 0);
  }
}

TEST(DctLayerTest, ASmallLayerTravelsWhole) {
  const std::vector<float> gradient = DistinctValues(256, 1);
  for (const auto& [min_elements, kept] :
       std::vector<std::pair<uint32_t, uint64_t>>{{255, 256 - 253 + 1}, {256, 256 - 253 + 1}, {257, 256}}) {
    DctLayer layer(256, min_elements, {0.99, 1, ValueType::kFp32});
    Frames frames;
    ASSERT_TRUE(layer.Encode(gradient, {256}, &frames).ok());
    EXPECT_EQ(layer.stats().kept, kept) << min_elements;
    EXPECT_EQ(DecodeHeader(frames[0])->kept, kept);
  }
}

// Most entries are kept, some are zero: what the receiver adds and the residual must still be the gradient.
TEST(DctLayerTest, NearlyAllKeptLosesNothing) {
  for (const ValueType type : {ValueType::kFp16, ValueType::kBf16, ValueType::kInt8, ValueType::kFp8}) {
    DctLayer layer(2000, 0, {0, 1, type});
    std::vector<float> gradient = NormalValues(2000, 3);
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = i % 20 == 7 ? 0 : std::ldexp(gradient[i], static_cast<int>(i / 32 % 9));
    Frames frames;
    ASSERT_TRUE(layer.Encode(gradient, {2000}, &frames).ok());
    layer.Commit();
    const std::vector<float> decoded = Decoded(frames, {2000});
    for (size_t i = 0; i < gradient.size(); ++i) ASSERT_EQ(decoded[i] + layer.residual()[i], gradient[i]) << i;
  }
}

TEST(DctLayerTest, SlicesSayTheSameAsOneFrame) {
  for (const ValueType type : {ValueType::kFp32, ValueType::kFp16}) {
    for (const std::vector<uint32_t>& ends : std::vector<std::vector<uint32_t>>{{1000}, {500, 1000}, {0, 1, 1, 333, 999, 1000, 1000}}) {
      DctLayer whole(1000, 0, {0.9, 2, type}), sliced(1000, 0, {0.9, 2, type});
      for (uint32_t step = 0; step < 4; ++step) {
        Frames one, many = {"replaced"};
        ASSERT_TRUE(whole.Encode(NormalValues(1000, step), {1000}, &one).ok());
        ASSERT_TRUE(sliced.Encode(NormalValues(1000, step), ends, &many).ok());
        ASSERT_EQ(many.size(), ends.size());
        EXPECT_EQ(Decoded(many, ends), Decoded(one, {1000}));
        whole.Commit();
        sliced.Commit();
      }
    }
  }
}

TEST(DctLayerTest, Fp16RoundingRangeAndUnderflowGoToTheResidual) {
  DctLayer layer(5, 0, {0, 1, ValueType::kFp16});
  const std::vector<float> gradient = {0.1f, 1e6f, -70000.0f, 1e-9f, 65519.0f};
  Frames frames;
  ASSERT_TRUE(layer.Encode(gradient, {5}, &frames).ok());
  layer.Commit();
  const std::vector<float> decoded = Decoded(frames, {5});
  EXPECT_EQ(decoded, (std::vector<float>{FloatFromHalf(HalfFromFloat(0.1f)), 65504, -65504, 0, 65504}));
  EXPECT_EQ(layer.stats().kept, 4);  // what rounds to zero is not kept
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(layer.residual()[i], gradient[i] - decoded[i]);
  // The overflow goes out with the next steps.
  double sent = decoded[1];
  for (int step = 0; step < 20; ++step) {
    ASSERT_TRUE(layer.Encode(std::vector<float>(5, 0.0f), {5}, &frames).ok());
    layer.Commit();
    sent += Decoded(frames, {5})[1];
  }
  EXPECT_EQ(sent, 1e6);
}

TEST(DctLayerTest, NotFiniteIsRefusedAndChangesNothing) {
  DctLayer layer(100, 0, {0.5, 2, ValueType::kFp32}), untouched(100, 0, {0.5, 2, ValueType::kFp32});
  for (uint32_t step = 0; step < 5; ++step) {
    std::vector<float> gradient = NormalValues(100, step);
    Frames frames, expected;
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      std::vector<float> poisoned = gradient;
      poisoned[37] = bad;
      const absl::Status status = layer.Encode(poisoned, {100}, &frames);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find("gradient 37 of 100"), std::string::npos) << status;
    }
    ASSERT_TRUE(layer.Encode(gradient, {100}, &frames).ok());
    ASSERT_TRUE(untouched.Encode(gradient, {100}, &expected).ok());
    EXPECT_EQ(frames, expected);
    layer.Commit();
    untouched.Commit();
  }
}

TEST(DctLayerTest, ASumThatOverflowsIsRefused) {
  DctLayer layer(2, 0, {0.5, 1, ValueType::kFp32});
  const float max = std::numeric_limits<float>::max();
  Frames frames;
  ASSERT_TRUE(layer.Encode(std::vector<float>{max, 1}, {2}, &frames).ok());
  layer.Rollback();
  EXPECT_FALSE(layer.Encode(std::vector<float>{max, 1}, {2}, &frames).ok());
  EXPECT_EQ(layer.residual()[0], max);
}

TEST(DctLayerTest, BadSlicesAndUnsettledEncodingsAreRefused) {
  DctLayer layer(10, 0, {});
  const std::vector<float> gradient(10, 1.0f);
  Frames frames;
  EXPECT_FALSE(layer.Encode(gradient, {9}, &frames).ok());
  EXPECT_FALSE(layer.Encode(gradient, {11}, &frames).ok());
  EXPECT_FALSE(layer.Encode(gradient, {6, 5, 10}, &frames).ok());
  EXPECT_FALSE(layer.Encode(gradient, {}, &frames).ok());
  EXPECT_FALSE(layer.Encode(std::vector<float>(9, 1.0f), {9}, &frames).ok());
  ASSERT_TRUE(layer.Encode(gradient, {10}, &frames).ok());
  EXPECT_EQ(layer.Encode(gradient, {10}, &frames).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(DctLayerTest, StatsAreNorms) {
  DctLayer layer(4, 0, {0.75, 1, ValueType::kFp32});
  Frames frames;
  ASSERT_TRUE(layer.Encode(std::vector<float>{3, -4, 12, 84}, {4}, &frames).ok());
  EXPECT_EQ(layer.stats().entries, 4);
  EXPECT_EQ(layer.stats().kept, 2);
  EXPECT_EQ(layer.stats().threshold, 12);
  EXPECT_DOUBLE_EQ(layer.stats().gradient_norm, std::sqrt(9.0 + 16 + 144 + 7056));
  EXPECT_DOUBLE_EQ(layer.stats().residual_norm, 5);
}

}  // namespace
}  // namespace weir::compression
