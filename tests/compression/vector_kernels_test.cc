// Every kernel against plain loops, on every instruction set that this processor has, at every length around the vector widths.
#include "compression/vector_kernels.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <vector>

#include "compression/half.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

constexpr size_t kLengths = 131;

uint32_t Magnitude(float value) { return BitsOfFloat(value) & 0x7fffffff; }

class VectorKernelsTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<int64_t> Targets() { return hwy::SupportedAndGeneratedTargets(); }

INSTANTIATE_TEST_SUITE_P(InstructionSets, VectorKernelsTest, testing::ValuesIn(Targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

TEST_P(VectorKernelsTest, MaxMagnitudeFindsTheLargestAnywhere) {
  for (size_t length = 0; length < kLengths; ++length) {
    std::vector<float> values(length, 0.5f);
    EXPECT_EQ(MaxMagnitudeBits(values), length == 0 ? 0 : BitsOfFloat(0.5f));
    for (size_t at = 0; at < length; ++at) {
      values[at] = -2.0f;
      ASSERT_EQ(MaxMagnitudeBits(values), BitsOfFloat(2.0f)) << at << " of " << length;
      values[at] = std::numeric_limits<float>::quiet_NaN();
      ASSERT_GT(MaxMagnitudeBits(values), kInfinityBits) << at << " of " << length;
      values[at] = 0.5f;
    }
  }
}

TEST_P(VectorKernelsTest, AddIntoAddsAndReportsTheLargest) {
  for (size_t length = 0; length < kLengths; ++length) {
    const std::vector<float> a = NormalValues(length, 1), b = NormalValues(length, 2);
    std::vector<float> sums(length);
    const uint32_t max = AddInto(a, b, sums.data());
    uint32_t expected_max = 0;
    for (size_t i = 0; i < length; ++i) {
      ASSERT_EQ(sums[i], a[i] + b[i]);
      expected_max = std::max(expected_max, Magnitude(sums[i]));
    }
    ASSERT_EQ(max, expected_max);
    std::vector<float> in_place = a;
    AddInto(in_place, b, in_place.data());
    ASSERT_EQ(in_place, sums);
  }
}

// One pass for three: the same sums and positions as the kernels that do one each.
TEST_P(VectorKernelsTest, AddAndCompactIsAddIntoThenCompactPositions) {
  for (size_t length = 0; length < kLengths; ++length) {
    const std::vector<float> a = NormalValues(length, 1), b = NormalValues(length, 2);
    std::vector<float> sums(length), out(length);
    const uint32_t max_bits = AddInto(a, b, sums.data());
    for (const float least : {std::numeric_limits<float>::denorm_min(), 0.5f, 1.5f, 1000.0f}) {
      std::vector<uint32_t> expected(length + kCompactSlack), positions(length + kCompactSlack);
      expected.resize(CompactPositions(sums, BitsOfFloat(least), 7, expected.data()));
      const AddedAndCompacted added = AddAndCompact(a, b, BitsOfFloat(least), 7, out.data(), positions.data());
      positions.resize(added.count);
      ASSERT_EQ(positions, expected) << length << " " << least;
      ASSERT_EQ(out, sums);
      ASSERT_EQ(added.max_bits, max_bits);
      ASSERT_NEAR(added.a_squares, SumOfSquares(a), 1e-4 * (1 + SumOfSquares(a)));
      ASSERT_NEAR(added.sum_squares, SumOfSquares(sums), 1e-4 * (1 + SumOfSquares(sums)));
    }
  }
}

TEST_P(VectorKernelsTest, AddAndCompactReportsWhatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (size_t at = 0; at < kLengths; ++at) {
      std::vector<float> a(kLengths, 0.5f), b(kLengths, 0.25f), out(kLengths);
      std::vector<uint32_t> positions(kLengths + kCompactSlack);
      a[at] = bad;
      ASSERT_GE(AddAndCompact(a, b, BitsOfFloat(1.0f), 0, out.data(), positions.data()).max_bits, kInfinityBits);
    }
  }
}

TEST_P(VectorKernelsTest, SumOfSquares) {
  for (size_t length = 0; length < kLengths; ++length) {
    const std::vector<float> values = DistinctValues(length, 3);
    ASSERT_EQ(SumOfSquares(values), length * (length + 1) * (2 * length + 1) / 6);  // 1 + 4 + 9 ...: exact in double
  }
}

TEST_P(VectorKernelsTest, CompactPositionsKeepsWhatReachesTheBits) {
  for (size_t length = 0; length < kLengths; ++length) {
    std::vector<float> values = DistinctValues(length, 4);
    if (length > 2) values[1] = 0, values[2] = -0.0f;
    for (const float least : {std::numeric_limits<float>::denorm_min(), 1.0f, 0.5f * length, 0.95f * length, 1.0f * length, 1000.0f}) {
      std::vector<uint32_t> expected, positions(length + kCompactSlack);
      for (size_t i = 0; i < length; ++i) {
        if (std::fabs(values[i]) >= least) expected.push_back(static_cast<uint32_t>(7 + i));
      }
      positions.resize(CompactPositions(values, std::max(1u, BitsOfFloat(least)), 7, positions.data()));
      ASSERT_EQ(positions, expected) << length << " " << least;
    }
  }
}

TEST_P(VectorKernelsTest, CompactMagnitudesKeepsTheRange) {
  for (size_t length = 0; length < kLengths; ++length) {
    const std::vector<float> values = DistinctValues(length, 5);
    for (const auto& [first, end] : std::vector<std::pair<uint32_t, uint32_t>>{
             {0, 1u << 31}, {0, 1}, {BitsOfFloat(3), BitsOfFloat(5)}, {BitsOfFloat(16), 1u << 31}, {BitsOfFloat(1), BitsOfFloat(100)}}) {
      std::vector<uint32_t> expected, magnitudes(length + kCompactSlack);
      for (const float value : values) {
        if (Magnitude(value) >= first && Magnitude(value) < end) expected.push_back(Magnitude(value));
      }
      magnitudes.resize(CompactMagnitudes(values, first, end, magnitudes.data()));
      ASSERT_EQ(magnitudes, expected) << length << " " << first;
    }
  }
}

TEST_P(VectorKernelsTest, HalvesAreThoseOfTheScalarReference) {
  std::vector<float> pool = EdgeValues();
  for (uint32_t half = 0; half < 0x7c00; half += 7) {
    const float value = FloatFromHalf(static_cast<uint16_t>(half));
    for (const float near : {value, std::nextafter(value, 1e6f), value * 1.0003f, -value * 1.00048828125f}) pool.push_back(near);
  }
  for (size_t length = 0; length < kLengths; ++length) {
    for (size_t begin = 0; begin + length <= pool.size(); begin += std::max<size_t>(97, length)) {
      std::vector<uint8_t> bytes(1 + 2 * length);  // from an odd address
      HalvesFromFloats(absl::MakeConstSpan(pool).subspan(begin, length), &bytes[1]);
      std::vector<float> back(length);
      FloatsFromHalves(&bytes[1], absl::MakeSpan(back));
      for (size_t i = 0; i < length; ++i) {
        const uint16_t expected = HalfFromFloat(pool[begin + i]);
        ASSERT_EQ(bytes[1 + 2 * i] | bytes[2 + 2 * i] << 8, expected) << pool[begin + i];
        ASSERT_EQ(BitsOfFloat(back[i]), BitsOfFloat(FloatFromHalf(expected)));
      }
    }
  }
}

TEST_P(VectorKernelsTest, BrainsAreThoseOfTheScalarReference) {
  std::vector<float> pool = EdgeValues();
  pool.erase(pool.begin() + 6, pool.begin() + 8);  // the largest floats have no bf16
  for (uint32_t bits = 0; bits < 0x7f7f8000; bits += 0x10123) {
    for (const uint32_t sign : {0u, 0x80000000u}) pool.push_back(FloatOfBits(sign | bits));
  }
  for (size_t length = 0; length < kLengths; ++length) {
    for (size_t begin = 0; begin + length <= pool.size(); begin += std::max<size_t>(997, length)) {
      std::vector<uint8_t> bytes(1 + 2 * length);
      BrainsFromFloats(absl::MakeConstSpan(pool).subspan(begin, length), &bytes[1]);
      std::vector<float> back(length);
      FloatsFromBrains(&bytes[1], absl::MakeSpan(back));
      for (size_t i = 0; i < length; ++i) {
        const uint16_t expected = BrainFromFloat(pool[begin + i]);
        ASSERT_EQ(bytes[1 + 2 * i] | bytes[2 + 2 * i] << 8, expected) << pool[begin + i];
        ASSERT_EQ(BitsOfFloat(back[i]), BitsOfFloat(FloatFromBrain(expected)));
      }
    }
  }
}

TEST_P(VectorKernelsTest, Int8BlocksAreThoseOfTheScalarReference) {
  for (size_t length = 0; length < kLengths; ++length) {
    std::vector<float> values = NormalValues(length, 6);
    for (size_t i = 0; i < length; ++i) values[i] = std::ldexp(values[i], static_cast<int>(i % 40) - 20);
    for (const size_t block : {1u, 3u, 16u, 32u, 33u, 1000u}) {
      const size_t blocks = (length + block - 1) / block;
      std::vector<uint8_t> bytes(length + blocks);
      Int8FromFloats(values, block, bytes.data());
      for (size_t i = 0; i < length; ++i) {
        const uint8_t scale = bytes[i / block * (block + 1)];
        uint32_t max = 0;
        for (size_t k = i / block * block; k < std::min(length, (i / block + 1) * block); ++k) max = std::max(max, Magnitude(values[k]));
        ASSERT_EQ(scale, Int8ScaleByte(max));
        const auto code = static_cast<int8_t>(bytes[i / block * (block + 1) + 1 + i % block]);
        ASSERT_EQ(code, static_cast<int>(std::nearbyint(values[i] * Int8InverseScale(scale)))) << length << " " << block << " " << i;
        ASSERT_LE(std::abs(code), 127);
      }
      for (size_t begin = 0; begin <= length; begin += 5) {
        std::vector<float> back(length - begin);
        FloatsFromInt8(bytes.data(), block, begin, absl::MakeSpan(back));
        for (size_t i = 0; i < back.size(); ++i) {
          const size_t at = begin + i;
          const auto code = static_cast<int8_t>(bytes[at / block * (block + 1) + 1 + at % block]);
          ASSERT_EQ(back[i], code * Int8Scale(bytes[at / block * (block + 1)]));
        }
      }
    }
  }
}

TEST_P(VectorKernelsTest, MinifloatsAreThoseOfTheScalarReference) {
  std::vector<float> pool = EdgeValues();
  pool.erase(pool.begin() + 6, pool.begin() + 8);
  pool.pop_back();
  pool.pop_back();  // above 57344
  for (uint32_t bits = 0; bits < kMinifloatOverflowBits; bits += 0x10123) {
    for (const uint32_t sign : {0u, 0x80000000u}) pool.push_back(FloatOfBits(sign | bits));
  }
  for (size_t length = 0; length < kLengths; ++length) {
    for (size_t begin = 0; begin + length <= pool.size(); begin += std::max<size_t>(997, length)) {
      std::vector<uint8_t> bytes(1 + length);
      MinifloatsFromFloats(absl::MakeConstSpan(pool).subspan(begin, length), &bytes[1]);
      std::vector<float> back(length);
      FloatsFromMinifloats(&bytes[1], absl::MakeSpan(back));
      for (size_t i = 0; i < length; ++i) {
        const uint8_t expected = MinifloatFromFloat(pool[begin + i]);
        ASSERT_EQ(bytes[1 + i], expected) << pool[begin + i];
        ASSERT_EQ(BitsOfFloat(back[i]), BitsOfFloat(FloatFromMinifloat(expected)));
        ASSERT_EQ(MinifloatFromFloat(back[i]), expected);
      }
    }
  }
}

TEST_P(VectorKernelsTest, RangesAreThoseOfTheScalarReference) {
  for (size_t length = 1; length < kLengths; ++length) {
    for (const uint32_t seed : {1u, 2u}) {
      const std::vector<float> values = NormalValues(length, seed + 10 * length);
      const FloatRange range = RangeOf(values);
      ASSERT_EQ(range.low, *std::min_element(values.begin(), values.end()));
      ASSERT_EQ(range.high, *std::max_element(values.begin(), values.end()));
    }
  }
}

TEST_P(VectorKernelsTest, MultiplesAndCodes) {
  for (size_t length = 0; length < kLengths; ++length) {
    std::vector<float> values = NormalValues(length, 7);
    for (const float step : {0.5f, 0.01171875f, 1.5f}) {
      std::vector<int32_t> multiples(length);
      MultiplesFromFloats(values, step, multiples.data());
      std::vector<uint8_t> codes8(length + 1), codes16(2 * length + 1);
      for (size_t i = 0; i < length; ++i) {
        ASSERT_EQ(multiples[i], static_cast<int32_t>(std::nearbyint(values[i] / step)));
        codes8[i + 1] = static_cast<uint8_t>(i * 37);
        codes16[2 * i + 1] = static_cast<uint8_t>(i * 91);
        codes16[2 * i + 2] = static_cast<uint8_t>(i * 13);
      }
      std::vector<float> of8(length), of16(length);
      FloatsFromCodes8(&codes8[1], -100, step, absl::MakeSpan(of8));
      FloatsFromCodes16(&codes16[1], -32000, step, absl::MakeSpan(of16));
      for (size_t i = 0; i < length; ++i) {
        ASSERT_EQ(of8[i], static_cast<float>(-100 + codes8[i + 1]) * step);
        ASSERT_EQ(of16[i], static_cast<float>(-32000 + (codes16[2 * i + 1] | codes16[2 * i + 2] << 8)) * step);
      }
    }
  }
}

TEST_P(VectorKernelsTest, EveryHalfBecomesItsFloat) {
  std::vector<uint8_t> bytes(2 * 65536);
  for (uint32_t half = 0; half < 65536; ++half) bytes[2 * half] = half & 0xff, bytes[2 * half + 1] = half >> 8;
  std::vector<float> values(65536);
  FloatsFromHalves(bytes.data(), absl::MakeSpan(values));
  for (uint32_t half = 0; half < 65536; ++half) {
    ASSERT_EQ(BitsOfFloat(values[half]), BitsOfFloat(FloatFromHalf(static_cast<uint16_t>(half)))) << half;
  }
}

}  // namespace
}  // namespace weir::compression
