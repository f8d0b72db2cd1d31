#include "base/binary_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weir {
namespace {

constexpr double kClip = 1e-7;
constexpr double kLogitMax = 8.0;

// Orders as the scores do, then by label: one number to sort, and a total order even with NaN in it.
uint64_t SortKey(float score, uint8_t label) {
  const float value = score + 0.0f;  // -0 and 0 are one score
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return uint64_t{bits} << 1 | (label != 0 ? 1 : 0);
}

float ScoreOfKey(uint64_t key) {
  auto bits = static_cast<uint32_t>(key >> 1);
  bits = (bits & 0x80000000u) != 0 ? bits & ~0x80000000u : ~bits;
  float score;
  std::memcpy(&score, &bits, sizeof(score));
  return score;
}

std::vector<uint64_t> SortedKeys(absl::Span<const float> scores, absl::Span<const uint8_t> labels) {
  std::vector<uint64_t> keys(scores.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = SortKey(scores[i], labels[i]);
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Takes groups of samples with one score, in rising order, and counts the pairs (positive, negative) that are in order. Ties count half.
class PairCounter {
 public:
  void AddGroup(double positives, double negatives) {
    ordered_ += positives * (negatives_ + 0.5 * negatives);
    positives_ += positives;
    negatives_ += negatives;
  }
  double Auc() const { return positives_ > 0 && negatives_ > 0 ? ordered_ / (positives_ * negatives_) : 0.5; }

 private:
  double ordered_ = 0;  // exact below 2^52 pairs
  double positives_ = 0;
  double negatives_ = 0;
};

double ExactAuc(absl::Span<const uint64_t> keys) {
  PairCounter pairs;
  for (size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    size_t positives = 0;
    for (; end < keys.size() && keys[end] >> 1 == keys[begin] >> 1; ++end) positives += keys[end] & 1;
    pairs.AddGroup(positives, end - begin - positives);
  }
  return pairs.Auc();
}

}  // namespace

double LogLossOfLogit(double logit, double label) { return std::max(logit, 0.0) - logit * label + std::log1p(std::exp(-std::abs(logit))); }

BinaryQuality EvaluateBinary(absl::Span<const float> scores, absl::Span<const uint8_t> labels) {
  BinaryQuality quality;
  quality.samples = scores.size();
  double loss = 0, predicted = 0, positives = 0;
  // Summed in the order of the scores: workers report in any order, and the figures are the same to the bit.
  const std::vector<uint64_t> keys = SortedKeys(scores, labels);
  for (const uint64_t key : keys) {
    const bool positive = (key & 1) != 0;
    const double p = std::clamp<double>(ScoreOfKey(key), kClip, 1.0 - kClip);
    loss -= std::log(positive ? p : 1.0 - p);
    predicted += ScoreOfKey(key);
    positives += positive ? 1 : 0;
  }
  const auto samples = static_cast<double>(scores.size());
  if (samples > 0) quality.logloss = loss / samples;
  if (positives > 0) quality.calibration = predicted / positives;
  if (positives > 0 && positives < samples) {
    const double rate = positives / samples;
    quality.ne = quality.logloss / -(rate * std::log(rate) + (1.0 - rate) * std::log1p(-rate));
  }
  quality.auc = ExactAuc(keys);
  return quality;
}

int ScoreBin(double logit) {
  if (!(logit > -kLogitMax)) return 0;
  if (logit >= kLogitMax) return kScoreBins - 1;
  return static_cast<int>((logit + kLogitMax) * (kScoreBins / (2 * kLogitMax)));
}

double AucOfBins(absl::Span<const uint64_t> positives, absl::Span<const uint64_t> negatives) {
  PairCounter pairs;
  for (size_t bin = 0; bin < positives.size(); ++bin) pairs.AddGroup(positives[bin], negatives[bin]);
  return pairs.Auc();
}

}  // namespace weir
