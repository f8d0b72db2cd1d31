// Numbers for the tests of compression: seeded, of several shapes. Thread-safe (pure functions).
#ifndef WEIR_TESTS_COMPRESSION_SAMPLE_VALUES_H_
#define WEIR_TESTS_COMPRESSION_SAMPLE_VALUES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace weir::compression {

// About normal, as gradients are; no two magnitudes alike in practice, and all inside fp16's normal range in practice.
inline std::vector<float> NormalValues(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// Distinct magnitudes 1, 2, ... size in random order, with random signs.
inline std::vector<float> DistinctValues(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i + 1);
  std::shuffle(values.begin(), values.end(), random);
  for (float& value : values) value *= random() % 2 == 0 ? 1 : -1;
  return values;
}

// Each entry is kept with the probability `density`.
inline std::vector<uint32_t> RandomPositions(uint32_t size, double density, uint32_t seed) {
  std::mt19937 random(seed);
  std::bernoulli_distribution keep(density);
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < size; ++i) {
    if (keep(random)) positions.push_back(i);
  }
  return positions;
}

// Finite values at the edges of fp32.
inline std::vector<float> EdgeValues() {
  using Limits = std::numeric_limits<float>;
  return {0.0f,
          -0.0f,
          Limits::denorm_min(),
          -Limits::denorm_min(),
          Limits::min(),
          -Limits::min(),
          Limits::max(),
          Limits::lowest(),
          1.0f,
          std::nextafter(1.0f, 2.0f),
          65504.0f,
          -65520.0f};
}

}  // namespace weir::compression

#endif  // WEIR_TESTS_COMPRESSION_SAMPLE_VALUES_H_
