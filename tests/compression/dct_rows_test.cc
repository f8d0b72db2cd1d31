#include "compression/dct_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/state_file.h"
#include "base/state_visitor.h"
#include "compression/half.h"
#include "compression/threshold.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

constexpr uint32_t kDim = 4;
using Frames = std::vector<std::string>;

std::vector<float> Decoded(const Frames& frames, const std::vector<uint32_t>& slice_ends) {
  std::vector<float> out(slice_ends.back() * kDim);
  uint32_t begin = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const absl::Status status = DecodeInto(frames[i], absl::MakeSpan(out).subspan(begin * kDim, (slice_ends[i] - begin) * kDim));
    EXPECT_TRUE(status.ok()) << status;
    begin = slice_ends[i];
  }
  return out;
}

std::vector<float> Residual(const DctRows& rows, Key key) {
  const absl::Span<const float> residual = rows.residual(key);
  return residual.empty() ? std::vector<float>(kDim, 0.0f) : std::vector<float>(residual.begin(), residual.end());
}

std::vector<Key> DistinctKeys(uint32_t count, uint64_t below, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys;
  while (keys.size() < count) {
    const Key key = random() % below;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

// DESIGN's invariant for every key, whichever pushes it is in, against plain maps.
TEST(DctRowsTest, NothingIsLostUnderCommitAndRollback) {
  for (const ValueType type : {ValueType::kFp32, ValueType::kFp16, ValueType::kBf16, ValueType::kInt8, ValueType::kFp8}) {
    std::mt19937 random(3);
    DctRows rows(kDim, {0.8, 3, type});
    std::map<Key, std::vector<double>> gradients, sent;
    for (uint32_t step = 0; step < 150; ++step) {
      const uint32_t count = random() % 30;  // none at times
      const std::vector<Key> keys = DistinctKeys(count, 60, step);
      const std::vector<float> gradient = NormalValues(count * kDim, step);
      Frames frames;
      ASSERT_TRUE(rows.Encode(keys, gradient, {count}, &frames).ok());
      const bool acknowledged = random() % 3 != 0;
      acknowledged ? rows.Commit() : rows.Rollback();
      const std::vector<float> decoded = Decoded(frames, {count});
      for (uint32_t i = 0; i < count * kDim; ++i) {
        gradients[keys[i / kDim]].resize(kDim);
        sent[keys[i / kDim]].resize(kDim);
        gradients[keys[i / kDim]][i % kDim] += gradient[i];
        if (acknowledged) sent[keys[i / kDim]][i % kDim] += decoded[i];
      }
      for (const auto& [key, sum] : gradients) {
        for (uint32_t j = 0; j < kDim; ++j) ASSERT_NEAR(sent[key][j] + Residual(rows, key)[j], sum[j], 1e-5 * (step + 1));
      }
    }
  }
}

TEST(DctRowsTest, RestoredGoesOnAsIfNothingHadBeen) {
  const std::string path = testing::TempDir() + "/dct_rows_state";
  DctRows undisturbed(kDim, {0.8, 4, ValueType::kInt8}), restored(kDim, {0.8, 4, ValueType::kInt8});
  for (uint32_t step = 0; step < 20; ++step) {
    if (step == 10) {
      const auto file = StateFileWriter::Create(path);
      StateSaver saver(file->get());
      undisturbed.VisitState(&saver);
      ASSERT_TRUE(saver.status().ok() && (*file)->Finish().ok());
      const auto restorer = StateRestorer::Open({path}, 0, 1);
      restored.VisitState(restorer->get());
      ASSERT_TRUE((*restorer)->status().ok()) << (*restorer)->status();
      EXPECT_EQ(restored.residual_rows(), undisturbed.residual_rows());
    }
    if (step == 5) undisturbed.SetDensityFactor(2);
    const std::vector<Key> keys = DistinctKeys(20, 60, step);
    const std::vector<float> gradient = NormalValues(20 * kDim, step);
    Frames frames, again;
    ASSERT_TRUE(undisturbed.Encode(keys, gradient, {20}, &frames).ok());
    undisturbed.Commit();
    if (step < 10) continue;
    ASSERT_TRUE(restored.Encode(keys, gradient, {20}, &again).ok());
    restored.Commit();
    EXPECT_EQ(again, frames) << step;
  }
}

TEST(DctRowsTest, OneThresholdOverAllRowsIncludesResiduals) {
  DctRows rows(kDim, {0.9, 1, ValueType::kFp32});
  const std::vector<Key> keys = DistinctKeys(100, 1000, 1);
  std::map<Key, std::vector<float>> residuals;
  for (uint32_t step = 0; step < 5; ++step) {
    const std::vector<float> gradient = NormalValues(100 * kDim, step);
    std::vector<float> corrected = gradient;
    for (uint32_t i = 0; i < corrected.size(); ++i) corrected[i] += Residual(rows, keys[i / kDim])[i % kDim];
    Frames frames;
    ASSERT_TRUE(rows.Encode(keys, gradient, {100}, &frames).ok());
    rows.Commit();
    const float threshold = MagnitudeThreshold(corrected, 0.9);
    EXPECT_EQ(rows.stats().threshold, threshold);
    EXPECT_EQ(rows.stats().kept, 400 - 360 + 1);
    const std::vector<float> decoded = Decoded(frames, {100});
    for (uint32_t i = 0; i < corrected.size(); ++i) EXPECT_EQ(decoded[i], std::fabs(corrected[i]) >= threshold ? corrected[i] : 0);
  }
}

TEST(DctRowsTest, ThresholdLivesForRefreshCallsThatHaveEntries) {
  DctRows rows(kDim, {0.5, 3, ValueType::kFp32});
  int changes = 0, calls = 0;
  double threshold = -1;
  for (uint32_t step = 0; step < 20; ++step) {
    const uint32_t count = step % 3 == 0 ? 0 : 10;
    Frames frames;
    ASSERT_TRUE(rows.Encode(DistinctKeys(count, 1000, step), NormalValues(count * kDim, step), {count}, &frames).ok());
    rows.Commit();
    if (count == 0) {
      EXPECT_EQ(DecodeHeader(frames[0])->size, 0);
      continue;
    }
    EXPECT_EQ(rows.stats().threshold != threshold, calls++ % 3 == 0);
    changes += rows.stats().threshold != threshold;
    threshold = rows.stats().threshold;
  }
  EXPECT_EQ(changes, 5);  // ceil(13 / 3)
}

TEST(DctRowsTest, ARowWithoutResidualTakesNoPlace) {
  DctRows rows(kDim, {0, 1, ValueType::kFp32});
  const std::vector<Key> keys = DistinctKeys(50, 1000, 1);
  Frames frames;
  ASSERT_TRUE(rows.Encode(keys, NormalValues(50 * kDim, 1), {50}, &frames).ok());
  rows.Rollback();
  EXPECT_EQ(rows.residual_rows(), 50);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(rows.Encode(keys, NormalValues(50 * kDim, 2), {50}, &frames).ok());
    rows.Commit();  // sparsity 0 sends all
    EXPECT_EQ(rows.residual_rows(), 0);
    EXPECT_TRUE(rows.residual(keys[0]).empty());
  }
}

TEST(DctRowsTest, ManyRowsKeepTheirOwnResiduals) {
  constexpr uint32_t kRows = 10000;  // more than two blocks
  DctRows rows(kDim, {0, 1, ValueType::kFp32});
  std::vector<Key> keys(kRows);
  for (uint32_t i = 0; i < kRows; ++i) keys[i] = Mix64(i);
  const std::vector<float> gradient = DistinctValues(kRows * kDim, 1);
  Frames frames;
  ASSERT_TRUE(rows.Encode(keys, gradient, {kRows}, &frames).ok());
  rows.Rollback();
  ASSERT_EQ(rows.residual_rows(), kRows);
  for (uint32_t i = 0; i < kRows * kDim; ++i) ASSERT_EQ(Residual(rows, keys[i / kDim])[i % kDim], gradient[i]);
}

TEST(DctRowsTest, SlicesSayTheSameAsOneFrameAndAreAppended) {
  const std::vector<uint32_t> ends = {0, 10, 11, 60, 100, 100};
  DctRows whole(kDim, {0.9, 2, ValueType::kFp16}), sliced(kDim, {0.9, 2, ValueType::kFp16});
  for (uint32_t step = 0; step < 4; ++step) {
    const std::vector<Key> keys = DistinctKeys(100, 150, step);
    Frames one, many = {"stays"};
    ASSERT_TRUE(whole.Encode(keys, NormalValues(100 * kDim, step), {100}, &one).ok());
    ASSERT_TRUE(sliced.Encode(keys, NormalValues(100 * kDim, step), ends, &many).ok());
    EXPECT_EQ(many[0], "stays");
    many.erase(many.begin());
    ASSERT_EQ(many.size(), ends.size());
    EXPECT_EQ(Decoded(many, ends), Decoded(one, {100}));
    whole.Commit();
    sliced.Commit();
  }
}

TEST(DctRowsTest, SparsityZeroSendsTheGradientBitForBit) {
  DctRows rows(kDim, {0, 1, ValueType::kFp32});
  for (uint32_t step = 0; step < 5; ++step) {
    const std::vector<float> gradient = NormalValues(40 * kDim, step);
    Frames frames;
    ASSERT_TRUE(rows.Encode(DistinctKeys(40, 50, step), gradient, {40}, &frames).ok());
    rows.Commit();
    EXPECT_EQ(Decoded(frames, {40}), gradient);
  }
}

TEST(DctRowsTest, NotFiniteIsRefusedAndChangesNothing) {
  DctRows rows(kDim, {0.5, 1, ValueType::kFp32});
  const std::vector<Key> keys = {1, 2, 3};
  Frames frames;
  ASSERT_TRUE(rows.Encode(keys, NormalValues(3 * kDim, 1), {3}, &frames).ok());
  rows.Commit();
  const std::vector<float> before = Residual(rows, 2);
  const size_t frames_before = frames.size();
  std::vector<float> gradient = NormalValues(3 * kDim, 2);
  gradient[kDim + 1] = std::numeric_limits<float>::quiet_NaN();
  const absl::Status status = rows.Encode(keys, gradient, {3}, &frames);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("gradient 5 of 12"), std::string::npos) << status;
  EXPECT_EQ(frames.size(), frames_before);
  EXPECT_EQ(Residual(rows, 2), before);
  EXPECT_TRUE(rows.Encode(keys, NormalValues(3 * kDim, 2), {3}, &frames).ok());  // nothing is left unsettled
}

TEST(DctRowsTest, Fp16OverflowAndRoundingStayInTheResidual) {
  DctRows rows(kDim, {0, 1, ValueType::kFp16});
  const std::vector<float> gradient = {1e5f, 0.1f, -1e5f, 1e-9f};
  Frames frames;
  ASSERT_TRUE(rows.Encode({8}, gradient, {1}, &frames).ok());
  rows.Commit();
  const std::vector<float> decoded = Decoded(frames, {1});
  EXPECT_EQ(decoded, (std::vector<float>{65504, FloatFromHalf(HalfFromFloat(0.1f)), -65504, 0}));
  for (uint32_t j = 0; j < kDim; ++j) EXPECT_EQ(Residual(rows, 8)[j], gradient[j] - decoded[j]);
}

TEST(DctRowsTest, BadShapesAreRefused) {
  DctRows rows(kDim, {});
  Frames frames;
  EXPECT_FALSE(rows.Encode({1, 2}, NormalValues(7, 1), {2}, &frames).ok());
  EXPECT_FALSE(rows.Encode({1, 2}, NormalValues(8, 1), {1}, &frames).ok());
  EXPECT_FALSE(rows.Encode({1, 2}, NormalValues(8, 1), {3}, &frames).ok());
  ASSERT_TRUE(rows.Encode({1, 2}, NormalValues(8, 1), {2}, &frames).ok());
  EXPECT_EQ(rows.Encode({1, 2}, NormalValues(8, 1), {2}, &frames).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace weir::compression
