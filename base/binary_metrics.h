// Quality of predicted probabilities of a binary label: log-loss, normalised entropy, calibration, AUC.
#ifndef WEIR_BASE_BINARY_METRICS_H_
#define WEIR_BASE_BINARY_METRICS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace weir {

// Numerically safe log-loss of one sample from its logit.
double LogLossOfLogit(double logit, double label);

struct BinaryQuality {
  uint64_t samples = 0;
  double logloss = 0;      // mean, natural logarithm; probabilities are clipped to [1e-7, 1 - 1e-7]
  double auc = 0;          // exact: ties count half; 0.5 with one class only
  double ne = 0;           // log-loss / log-loss of always predicting the mean label (He et al., ADKDD 2014); 0 with one class only
  double calibration = 0;  // sum of predictions / sum of labels; 0 without positives
};

// Exact, from all scores (probabilities); O(n log n). labels: 0 or 1.
BinaryQuality EvaluateBinary(absl::Span<const float> scores, absl::Span<const uint8_t> labels);

// AUC of a window from histograms of the logit: bounded error, mergeable by addition.
inline constexpr int kScoreBins = 256;
// Bin of a logit: [-8, 8] cut into kScoreBins, ends clamped.
int ScoreBin(double logit);
double AucOfBins(absl::Span<const uint64_t> positives, absl::Span<const uint64_t> negatives);

}  // namespace weir

#endif  // WEIR_BASE_BINARY_METRICS_H_
