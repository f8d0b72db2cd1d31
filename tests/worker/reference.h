// Scalar references in double for what the worker computes in float, and numbers to feed both.
#ifndef WEIR_TESTS_WORKER_REFERENCE_H_
#define WEIR_TESTS_WORKER_REFERENCE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "base/key.h"

namespace weir::worker {

// Uniform in [-1, 1), a pure function of the stream.
inline std::vector<float> RandomFloats(size_t count, uint64_t stream) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(2 * KeyedUniform(stream, i) - 1);
  return values;
}

inline std::vector<double> ToDouble(absl::Span<const float> values) { return {values.begin(), values.end()}; }

// Every number within `tolerance`, relative to the largest expected one.
inline void ExpectClose(absl::Span<const float> actual, absl::Span<const double> expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 1;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << "at " << i;
}

// Derivatives of `function` at `point` by central differences.
inline std::vector<double> NumericGradient(std::vector<double> point, const std::function<double(const std::vector<double>&)>& function) {
  constexpr double kStep = 1e-6;
  std::vector<double> gradient(point.size());
  for (size_t i = 0; i < point.size(); ++i) {
    const double value = point[i];
    point[i] = value + kStep;
    const double above = function(point);
    point[i] = value - kStep;
    const double below = function(point);
    point[i] = value;
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

inline double Dot(absl::Span<const double> a, absl::Span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// output = activation(input * weights^T + bias), for one sample. parameters: weights [outputs][inputs], then bias.
struct ReferenceLinear {
  size_t inputs = 0;
  size_t outputs = 0;
  bool relu = false;

  size_t parameter_count() const { return (inputs + 1) * outputs; }
  std::vector<double> Forward(absl::Span<const double> parameters, absl::Span<const double> input) const {
    std::vector<double> output(outputs);
    for (size_t i = 0; i < outputs; ++i) {
      output[i] = parameters[inputs * outputs + i] + Dot(parameters.subspan(i * inputs, inputs), input);
      if (relu && output[i] < 0) output[i] = 0;
    }
    return output;
  }
};

// [vector 0 | dot products of vectors i and j, j < i], for one sample.
inline std::vector<double> ReferenceInteraction(absl::Span<const double> vectors, size_t dim) {
  std::vector<double> output(vectors.begin(), vectors.begin() + dim);
  for (size_t i = 1; i < vectors.size() / dim; ++i) {
    for (size_t j = 0; j < i; ++j) output.push_back(Dot(vectors.subspan(i * dim, dim), vectors.subspan(j * dim, dim)));
  }
  return output;
}

}  // namespace weir::worker

#endif  // WEIR_TESTS_WORKER_REFERENCE_H_
