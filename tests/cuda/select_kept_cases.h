// Gradients, residuals and thresholds for the tests of SelectKept, and what a plain loop makes of them. Thread-safe (pure functions).
#ifndef WEIR_TESTS_CUDA_SELECT_KEPT_CASES_H_
#define WEIR_TESTS_CUDA_SELECT_KEPT_CASES_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compression/threshold.h"
#include "tests/compression/sample_values.h"

namespace weir::cuda {

struct SelectKeptCase {
  std::string name;
  std::vector<float> gradient;
  std::vector<float> residual;
  float threshold = 0;
};

struct ExpectedSelection {
  std::vector<uint32_t> positions;
  std::vector<float> values;
  std::vector<float> unsent;
};

inline ExpectedSelection SelectByPlainLoop(const SelectKeptCase& input) {
  ExpectedSelection expected;
  for (size_t i = 0; i < input.gradient.size(); ++i) {
    const float sum = input.gradient[i] + input.residual[i];
    const bool keep = std::fabs(sum) >= input.threshold && sum != 0;
    expected.unsent.push_back(keep ? 0 : sum);
    if (!keep) continue;
    expected.positions.push_back(static_cast<uint32_t>(i));
    expected.values.push_back(sum);
  }
  return expected;
}

inline std::vector<float> SumsOf(const SelectKeptCase& input) {
  std::vector<float> sums(input.gradient.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = input.gradient[i] + input.residual[i];
  return sums;
}

// Sizes around those of warps, blocks and tiles, at densities from all to almost nothing.
inline std::vector<SelectKeptCase> NormalCases() {
  std::vector<SelectKeptCase> cases;
  for (const size_t size : {0u, 1u, 2u, 31u, 32u, 33u, 255u, 256u, 257u, 1023u, 4097u, 100003u}) {
    for (const double sparsity : {0.0, 0.5, 0.9, 0.99, 0.9999}) {
      SelectKeptCase next{absl::StrCat(size, " normal values at sparsity ", sparsity), compression::NormalValues(size, 1),
                          compression::NormalValues(size, 2)};
      next.threshold = compression::MagnitudeThreshold(SumsOf(next), sparsity);
      cases.push_back(std::move(next));
    }
  }
  return cases;
}

inline std::vector<SelectKeptCase> EdgeCases() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> edges = compression::EdgeValues();
  const std::vector<float> zeros(edges.size(), 0.0f);
  const std::vector<float> ties = {0.5f, -0.5f, 0.25f, 0.75f, -0.5f, 0.5f, -0.25f};
  return {
      {"ties at the threshold, some of them by the residual", ties, {0, 0, 0.25f, -0.25f, -0.5f, -1, 0}, 0.5f},
      {"a residual that cancels the gradient", {1, -2, 3, -4}, {-1, 2, -3, 4.5f}, 0},
      {"only zeros", {0.0f, -0.0f, 0.0f, -0.0f}, {0.0f, -0.0f, -0.0f, 0.0f}, 0},
      {"edges of fp32, everything kept", edges, zeros, 0},
      {"edges of fp32, the smallest subnormal as threshold", edges, zeros, kTiny},
      {"subnormal sums", {kTiny, -kTiny, kTiny, 0}, {kTiny, -kTiny, -kTiny, kTiny}, 2 * kTiny},
      {"edges of fp32, the largest as threshold", edges, zeros, std::numeric_limits<float>::max()},
      {"an infinite threshold keeps nothing", edges, zeros, kInfinity},
  };
}

}  // namespace weir::cuda

#endif  // WEIR_TESTS_CUDA_SELECT_KEPT_CASES_H_
