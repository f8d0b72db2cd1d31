#include "compression/magnitude_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "compression/half.h"
#include "compression/vector_kernels.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

// Every rank of every size up to some vectors, for values that lie close, far apart, and on each other.
TEST(MagnitudeRankTest, IsTheSortedMagnitude) {
  const std::vector<std::function<float(size_t)>> shapes = {
      nullptr,  // normal
      [](size_t) { return 0.0f; },
      [](size_t) { return -2.5f; },
      [](size_t i) { return static_cast<float>(i * 7919 % 5) - 2; },
      [](size_t i) { return i % 20 == 0 ? 1.0f / static_cast<float>(i + 1) : -0.0f; },
      [](size_t i) { return std::ldexp(static_cast<float>(i * 31 % 1000), -149); },
      [](size_t i) { return 1.0f + static_cast<float>(i * 7919 % 4099) * 0x1p-23f; },
      [](size_t i) { return std::ldexp(1.0f, static_cast<int>(i * 37 % 277) - 149); },
      [](size_t i) { return i == 3 ? FloatOfBits(kInfinityBits - 1) : 1e-30f * static_cast<float>(i); },
  };
  for (size_t shape = 0; shape < shapes.size(); ++shape) {
    for (const size_t size : {1, 2, 15, 16, 17, 31, 33, 64, 100, 400, 1023}) {
      std::vector<float> values;
      const std::vector<float> normal = shape == 0 ? NormalValues(size, 1) : std::vector<float>();
      for (size_t i = 0; i < size; ++i) values.push_back(shape == 0 ? normal[i] : shapes[shape](i));
      std::vector<float> sorted = values;
      for (float& value : sorted) value = std::fabs(value);
      std::sort(sorted.begin(), sorted.end());
      for (uint32_t rank = 1; rank <= size; rank += size > 100 ? 7 : 1) {
        ASSERT_EQ(FloatOfBits(MagnitudeOfRank(values, rank, MaxMagnitudeBits(values))), sorted[rank - 1])
            << "shape " << shape << ", " << rank << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace weir::compression
