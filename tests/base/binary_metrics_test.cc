#include "base/binary_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/key.h"

namespace weir {
namespace {

struct Sample {
  std::vector<float> scores;
  std::vector<uint8_t> labels;
};

// `levels` different scores, so that a small number makes many ties. Better than chance, far from perfect.
Sample RandomSample(size_t count, int levels, uint64_t stream) {
  Sample sample;
  for (size_t i = 0; i < count; ++i) {
    const double p = std::floor(KeyedUniform(stream, 2 * i) * levels) / levels;
    sample.scores.push_back(static_cast<float>(p));
    sample.labels.push_back(KeyedUniform(stream, 2 * i + 1) < 0.1 + 0.5 * p ? 1 : 0);
  }
  return sample;
}

double PairwiseAuc(const Sample& sample) {
  double ordered = 0, pairs = 0;
  for (size_t i = 0; i < sample.scores.size(); ++i) {
    for (size_t j = 0; j < sample.scores.size(); ++j) {
      if (sample.labels[i] != 1 || sample.labels[j] != 0) continue;
      ++pairs;
      ordered += sample.scores[i] > sample.scores[j] ? 1 : sample.scores[i] == sample.scores[j] ? 0.5 : 0;
    }
  }
  return pairs > 0 ? ordered / pairs : 0.5;
}

TEST(EvaluateBinaryTest, AucMatchesAllPairs) {
  for (const size_t count : {1, 2, 3, 10, 100, 700}) {
    for (const int levels : {1, 2, 7, 100000}) {
      const Sample sample = RandomSample(count, levels, count * 1000 + levels);
      EXPECT_DOUBLE_EQ(EvaluateBinary(sample.scores, sample.labels).auc, PairwiseAuc(sample))
          << count << " samples, " << levels << " levels";
    }
  }
}

TEST(EvaluateBinaryTest, AucOrdersNegativeScoresAndTreatsBothZerosAsOne) {
  EXPECT_DOUBLE_EQ(EvaluateBinary({-2.0f, -1.0f, 0.5f}, {0, 1, 1}).auc, 1.0);
  EXPECT_DOUBLE_EQ(EvaluateBinary({-1.0f, -2.0f, 0.5f}, {0, 1, 1}).auc, 0.5);
  EXPECT_DOUBLE_EQ(EvaluateBinary({-0.0f, 0.0f}, {0, 1}).auc, 0.5);
}

TEST(EvaluateBinaryTest, ClosedForm) {
  const BinaryQuality quality = EvaluateBinary({0.25f, 0.5f, 0.75f, 0.5f}, {0, 1, 1, 0});
  EXPECT_EQ(quality.samples, 4u);
  const double logloss = -(std::log(0.75) + std::log(0.5) + std::log(0.75) + std::log(0.5)) / 4;
  EXPECT_DOUBLE_EQ(quality.logloss, logloss);
  EXPECT_DOUBLE_EQ(quality.ne, logloss / std::log(2.0));
  EXPECT_DOUBLE_EQ(quality.calibration, 1.0);
  EXPECT_DOUBLE_EQ(quality.auc, 3.5 / 4);
}

TEST(EvaluateBinaryTest, PredictingTheMeanLabelHasNormalisedEntropyOne) {
  const std::vector<uint8_t> labels = {1, 0, 0, 0, 0, 1, 0, 0};
  const BinaryQuality quality = EvaluateBinary(std::vector<float>(labels.size(), 0.25f), labels);
  EXPECT_NEAR(quality.ne, 1.0, 1e-12);
  EXPECT_DOUBLE_EQ(quality.auc, 0.5);
  EXPECT_DOUBLE_EQ(quality.calibration, 1.0);
}

TEST(EvaluateBinaryTest, OneClassOrNoSamples) {
  const BinaryQuality negatives = EvaluateBinary({0.2f, 0.4f}, {0, 0});
  EXPECT_EQ(negatives.auc, 0.5);
  EXPECT_EQ(negatives.ne, 0.0);
  EXPECT_EQ(negatives.calibration, 0.0);
  EXPECT_GT(negatives.logloss, 0.0);
  const BinaryQuality positives = EvaluateBinary({0.2f, 0.4f}, {1, 1});
  EXPECT_EQ(positives.auc, 0.5);
  EXPECT_EQ(positives.ne, 0.0);
  EXPECT_NEAR(positives.calibration, 0.3, 1e-7);
  const BinaryQuality none = EvaluateBinary({}, {});
  EXPECT_EQ(none.samples, 0u);
  EXPECT_EQ(none.logloss, 0.0);
  EXPECT_EQ(none.auc, 0.5);
}

TEST(EvaluateBinaryTest, ClipsCertainty) {
  const BinaryQuality wrong = EvaluateBinary({1.0f, 0.0f}, {0, 1});
  EXPECT_NEAR(wrong.logloss, -std::log(1e-7), 1e-6);
  EXPECT_NEAR(EvaluateBinary({1.0f, 0.0f}, {1, 0}).logloss, 1e-7, 1e-12);
}

TEST(EvaluateBinaryTest, NanShowsInTheLogLoss) {
  EXPECT_TRUE(std::isnan(EvaluateBinary({std::numeric_limits<float>::quiet_NaN(), 0.5f}, {1, 0}).logloss));
}

TEST(LogLossOfLogitTest, MatchesTheDefinitionAndIsFiniteFarOut) {
  for (const double logit : {-5.0, -0.3, 0.0, 0.7, 12.0}) {
    const double p = 1 / (1 + std::exp(-logit));
    EXPECT_NEAR(LogLossOfLogit(logit, 1), -std::log(p), 1e-10);
    EXPECT_NEAR(LogLossOfLogit(logit, 0), -std::log1p(-p), 1e-8);
  }
  EXPECT_DOUBLE_EQ(LogLossOfLogit(1000, 0), 1000);
  EXPECT_DOUBLE_EQ(LogLossOfLogit(1000, 1), 0);
  EXPECT_DOUBLE_EQ(LogLossOfLogit(-1000, 1), 1000);
}

TEST(ScoreBinTest, CutsTheRangeAndClampsItsEnds) {
  EXPECT_EQ(ScoreBin(-8.0), 0);
  EXPECT_EQ(ScoreBin(-8.0 + 0.0625), 1);
  EXPECT_EQ(ScoreBin(0.0), kScoreBins / 2);
  EXPECT_EQ(ScoreBin(-1e-9), kScoreBins / 2 - 1);
  EXPECT_EQ(ScoreBin(7.9999), kScoreBins - 1);
  EXPECT_EQ(ScoreBin(8.0), kScoreBins - 1);
  EXPECT_EQ(ScoreBin(1e300), kScoreBins - 1);
  EXPECT_EQ(ScoreBin(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(ScoreBin(std::numeric_limits<double>::quiet_NaN()), 0);
}

struct Bins {
  std::vector<uint64_t> positives = std::vector<uint64_t>(kScoreBins);
  std::vector<uint64_t> negatives = std::vector<uint64_t>(kScoreBins);

  void Add(const Sample& sample) {
    for (size_t i = 0; i < sample.scores.size(); ++i) {
      const int bin = ScoreBin(20.0 * sample.scores[i] - 10.0);
      ++(sample.labels[i] == 1 ? positives : negatives)[bin];
    }
  }
};

TEST(AucOfBinsTest, IsWithinHalfOfThePairsThatShareABin) {
  const Sample sample = RandomSample(3000, 1 << 20, 7);
  Bins bins;
  bins.Add(sample);
  double shared = 0, positives = 0, negatives = 0;
  for (int i = 0; i < kScoreBins; ++i) {
    shared += static_cast<double>(bins.positives[i]) * bins.negatives[i];
    positives += bins.positives[i];
    negatives += bins.negatives[i];
  }
  const double exact = EvaluateBinary(sample.scores, sample.labels).auc;
  EXPECT_NEAR(AucOfBins(bins.positives, bins.negatives), exact, 0.5 * shared / (positives * negatives));
  EXPECT_NEAR(AucOfBins(bins.positives, bins.negatives), exact, 2e-3);
}

TEST(AucOfBinsTest, HistogramsMergeByAddition) {
  const Sample first = RandomSample(500, 100, 1), second = RandomSample(300, 100, 2);
  Bins a, b, both;
  a.Add(first);
  b.Add(second);
  both.Add(first);
  both.Add(second);
  for (int i = 0; i < kScoreBins; ++i) {
    a.positives[i] += b.positives[i];
    a.negatives[i] += b.negatives[i];
  }
  EXPECT_EQ(AucOfBins(a.positives, a.negatives), AucOfBins(both.positives, both.negatives));
}

TEST(AucOfBinsTest, OneClassOrNothingIsHalf) {
  Bins bins;
  EXPECT_EQ(AucOfBins(bins.positives, bins.negatives), 0.5);
  bins.positives[3] = 9;
  EXPECT_EQ(AucOfBins(bins.positives, bins.negatives), 0.5);
  bins.negatives[2] = 4;
  EXPECT_EQ(AucOfBins(bins.positives, bins.negatives), 1.0);
}

}  // namespace
}  // namespace weir
