// What every encoder promises: a round trip at every length, density and value type, and the smallest layout.
#include "compression/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compression/half.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

constexpr double kDensities[] = {0, 0.01, 0.05, 0.125, 0.3, 0.6, 0.97, 1};

struct Sparse {
  uint32_t size = 0;
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

Sparse RandomSparse(uint32_t size, double density, uint32_t seed) {
  Sparse sparse{size, RandomPositions(size, density, seed), {}};
  sparse.values = NormalValues(sparse.positions.size(), seed + 1);
  return sparse;
}

// One number at a time, from FORMAT.md.
std::vector<float> AsSent(std::vector<float> values, ValueType type, size_t block = kInt8Block) {
  for (size_t begin = 0; begin < values.size(); begin += block) {
    const size_t end = std::min(values.size(), begin + block);
    double largest = 0;
    for (size_t i = begin; i < end; ++i) largest = std::max(largest, std::fabs(double{values[i]}));
    int exponent = -126;
    while (largest > std::ldexp(127.0, exponent)) ++exponent;
    for (size_t i = begin; i < end; ++i) {
      float& value = values[i];
      if (type == ValueType::kFp16) value = FloatFromHalf(HalfFromFloat(value));
      if (type == ValueType::kBf16) value = FloatFromBrain(BrainFromFloat(value));
      if (type == ValueType::kInt8) value = std::ldexp(static_cast<float>(std::nearbyint(std::ldexp(double{value}, -exponent))), exponent);
      if (type == ValueType::kInt8 && value == 0) value = 0;  // an integer has no negative zero
      if (type == ValueType::kFp8) {
        int e = 0;
        const double half = std::nearbyint(std::frexp(std::fabs(double{value}), &e) * 4);  // 2, 3 or 4 quarters of 2^e
        value = std::fabs(value) < 0x1p-47f ? 0 : std::copysign(static_cast<float>(std::ldexp(half / 4, e)), value);
      }
    }
  }
  return values;
}

std::vector<float> Whole(const Sparse& sparse, ValueType type, bool scattered) {
  const std::vector<float> sent = AsSent(sparse.values, type);
  std::vector<float> whole(sparse.size, 0.0f);
  for (size_t i = 0; i < sparse.positions.size(); ++i) whole[sparse.positions[i]] = scattered ? sparse.values[i] : sent[i];
  return scattered ? AsSent(whole, type) : whole;
}

bool IsDense(const std::string& frame) { return DecodeHeader(frame)->layout == MaskLayout::kDense; }

std::string TypeName(ValueType type) {
  const char* const kNames[] = {"fp32", "fp16", "bf16", "int8", "fp8"};
  return kNames[static_cast<int>(type)];
}

std::string Encoded(const Sparse& sparse, ValueType type) {
  std::string frame;
  const absl::Status status = EncodeSparse(sparse.size, sparse.positions, sparse.values, type, &frame);
  EXPECT_TRUE(status.ok()) << status;
  return frame;
}

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(BitsOfFloat(value));
  return bits;
}

class FrameTest : public testing::TestWithParam<ValueType> {
 protected:
  // All decoders of a frame with a mask agree on what it says.
  void ExpectDecodesTo(const std::string& frame, const std::vector<float>& whole) {
    const uint32_t size = static_cast<uint32_t>(whole.size());
    std::vector<float> out(size, 77.0f), sums(size, 0.5f), scattered(size, 0.0f);
    ASSERT_TRUE(DecodeInto(frame, absl::MakeSpan(out)).ok());
    ASSERT_EQ(Bits(out), Bits(whole));
    ASSERT_TRUE(DecodeAdd(frame, absl::MakeSpan(sums)).ok());
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(sums[i], 0.5f + whole[i]);
    const auto entries = DecodeSparse(frame, size);
    ASSERT_TRUE(entries.ok()) << entries.status();
    for (size_t i = 0; i < entries->positions.size(); ++i) {
      ASSERT_TRUE(i == 0 || entries->positions[i - 1] < entries->positions[i]);
      scattered[entries->positions[i]] = entries->values[i];
    }
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(scattered[i], whole[i]);
  }
};

INSTANTIATE_TEST_SUITE_P(Types, FrameTest,
                         testing::Values(ValueType::kFp32, ValueType::kFp16, ValueType::kBf16, ValueType::kInt8, ValueType::kFp8),
                         [](const auto& type) { return TypeName(type.param); });

TEST_P(FrameTest, DenseRoundTripsAtEveryLength) {
  for (uint32_t size = 0; size <= 130; ++size) {
    const std::vector<float> values = NormalValues(size, size);
    std::string frame;
    ASSERT_TRUE(EncodeDense(values, GetParam(), &frame).ok());
    ExpectDecodesTo(frame, AsSent(values, GetParam()));
  }
}

TEST_P(FrameTest, SparseRoundTripsAtEveryLengthAndDensity) {
  for (uint32_t size = 0; size <= 130; ++size) {
    for (const double density : kDensities) {
      const Sparse sparse = RandomSparse(size, density, size);
      const std::string frame = Encoded(sparse, GetParam());
      ExpectDecodesTo(frame, Whole(sparse, GetParam(), IsDense(frame)));
    }
  }
}

TEST_P(FrameTest, SparseRoundTripsAcrossChunks) {
  for (const uint32_t size : {511u, 512u, 513u, 1023u, 1024u, 1025u, 4096u, 70001u}) {
    for (const double density : {0.0, 0.0002, 0.003, 0.1, 0.4, 0.99, 1.0}) {
      const Sparse sparse = RandomSparse(size, density, size);
      const std::string frame = Encoded(sparse, GetParam());
      ExpectDecodesTo(frame, Whole(sparse, GetParam(), IsDense(frame)));
    }
  }
}

TEST_P(FrameTest, ImpliedRoundTripsAtEveryLength) {
  for (uint32_t size = 0; size <= 130; ++size) {
    const std::vector<float> values = NormalValues(size, size);
    std::string frame;
    ASSERT_TRUE(EncodeImplied(values, GetParam(), &frame).ok());
    std::vector<float> out(size);
    ASSERT_TRUE(DecodeImplied(frame, absl::MakeSpan(out)).ok());
    ASSERT_EQ(out, AsSent(values, GetParam()));
    EXPECT_EQ(DecodeHeader(frame)->layout, MaskLayout::kImplied);
  }
}

size_t VarintSize(uint64_t number) { return number < 128 ? 1 : 1 + VarintSize(number / 128); }

// Bytes of each layout, from FORMAT.md rather than from the encoder.
size_t SizeByFormat(const Sparse& sparse, ValueType type, MaskLayout layout) {
  const size_t kWidths[] = {4, 2, 2, 1, 1};
  const size_t kept = layout == MaskLayout::kDense ? sparse.size : sparse.positions.size();
  size_t mask = layout == MaskLayout::kBitmap ? (sparse.size + 7) / 8 : 0;
  uint32_t next = 0;
  for (const uint32_t position : sparse.positions) {
    if (layout == MaskLayout::kGaps) mask += VarintSize(position - next);
    next = position + 1;
  }
  const size_t scales = type == ValueType::kInt8 ? 1 + (kept + kInt8Block - 1) / kInt8Block : 0;
  return 4 + VarintSize(sparse.size) + VarintSize(kept) + scales + mask + kept * kWidths[static_cast<int>(type)] + 4;
}

TEST_P(FrameTest, TheSmallestLayoutIsChosen) {
  int chosen[3] = {};
  for (const uint32_t size : {1u, 7u, 8u, 9u, 64u, 100u, 130u, 1000u, 20000u}) {
    for (const double density : {0.0, 0.001, 0.01, 0.1, 0.12, 0.13, 0.3, 0.45, 0.5, 0.55, 0.9, 0.93, 0.95, 0.965, 0.97, 0.98, 1.0}) {
      const Sparse sparse = RandomSparse(size, density, size);
      const std::string frame = Encoded(sparse, GetParam());
      const MaskLayout layout = DecodeHeader(frame)->layout;
      EXPECT_EQ(frame.size(), SizeByFormat(sparse, GetParam(), layout));
      // Dense 8-bit frames have other blocks than the kept values by themselves.
      const bool dense_is_other = GetParam() == ValueType::kInt8 && sparse.positions.size() < size;
      for (const MaskLayout other : {MaskLayout::kDense, MaskLayout::kBitmap, MaskLayout::kGaps}) {
        if (other == MaskLayout::kDense && GetParam() == ValueType::kInt8) continue;
        if (other == MaskLayout::kDense && dense_is_other) continue;
        EXPECT_LE(frame.size(), SizeByFormat(sparse, GetParam(), other)) << size << " " << density;
      }
      ++chosen[static_cast<int>(layout)];
    }
  }
  if (GetParam() == ValueType::kInt8) chosen[static_cast<int>(MaskLayout::kDense)] = 11;
  for (const int times : chosen) EXPECT_GT(times, 10);  // each of them is best somewhere
}

TEST_P(FrameTest, AppendsAndHeaderTells) {
  std::string out = "before";
  ASSERT_TRUE(EncodeSparse(1000, {3, 700}, {1.5f, -2.0f}, GetParam(), &out).ok());
  EXPECT_EQ(out.substr(0, 6), "before");
  const auto header = DecodeHeader(out.substr(6));
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->size, 1000);
  EXPECT_EQ(header->kept, 2);
  EXPECT_EQ(header->values, GetParam());
  EXPECT_EQ(header->layout, MaskLayout::kGaps);
}

TEST_P(FrameTest, EncodersRefuseWhatIsNotFiniteAndSayWhere) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (size_t at = 0; at < 40; ++at) {
      std::vector<float> values(40, 1.0f);
      values[at] = bad;
      std::vector<uint32_t> positions(40);
      for (uint32_t i = 0; i < 40; ++i) positions[i] = 3 * i;
      std::string out = "kept";
      for (const absl::Status& status : {EncodeDense(values, GetParam(), &out), EncodeImplied(values, GetParam(), &out),
                                         EncodeSparse(120, positions, values, GetParam(), &out)}) {
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_NE(status.message().find("value " + std::to_string(at) + " of 40"), std::string::npos) << status;
      }
      EXPECT_EQ(out, "kept");
    }
  }
}

TEST(FrameEdgesTest, Fp32CarriesEveryFiniteValue) {
  std::string frame;
  ASSERT_TRUE(EncodeDense(EdgeValues(), ValueType::kFp32, &frame).ok());
  std::vector<float> out(EdgeValues().size());
  ASSERT_TRUE(DecodeInto(frame, absl::MakeSpan(out)).ok());
  EXPECT_EQ(Bits(out), Bits(EdgeValues()));
}

TEST(FrameEdgesTest, Fp16RefusesWhatWouldRoundToInfinity) {
  std::string frame;
  EXPECT_TRUE(EncodeDense({65504.0f, std::nextafter(65520.0f, 0.0f), 1e-30f, -0.0f}, ValueType::kFp16, &frame).ok());
  for (const float beyond : {65520.0f, -65520.0f, 1e9f, std::numeric_limits<float>::max()}) {
    const absl::Status status = EncodeDense({1.0f, beyond}, ValueType::kFp16, &frame);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("value 1 of 2"), std::string::npos) << status;
  }
}

TEST_P(FrameTest, RoundValuesIsWhatAFrameDoesAndIsDoneOnce) {
  for (const size_t size : {0u, 1u, 31u, 32u, 33u, 1023u, 1024u, 1025u, 3000u}) {
    std::vector<float> values = NormalValues(size, 9);
    for (size_t i = 0; i < size; ++i) values[i] = std::ldexp(values[i], static_cast<int>(i % 24) - 14);
    std::vector<float> rounded = values;
    RoundValues(GetParam(), absl::MakeSpan(rounded));
    ASSERT_EQ(rounded, AsSent(values, GetParam()));
    std::vector<float> twice = rounded;
    RoundValues(GetParam(), absl::MakeSpan(twice));
    ASSERT_EQ(Bits(twice), Bits(rounded));
  }
}

TEST_P(FrameTest, TheLargestValueIsCarriedAndTheNextIsNot) {
  const float largest = LargestValue(GetParam());
  for (const float value : {largest, -largest}) {
    std::string frame;
    ASSERT_TRUE(EncodeDense({value, 1.0f}, GetParam(), &frame).ok());
    std::vector<float> out(2);
    ASSERT_TRUE(DecodeInto(frame, absl::MakeSpan(out)).ok());
    EXPECT_EQ(out[0], value);
  }
  float beyond = std::nextafter(largest, INFINITY);
  if (GetParam() == ValueType::kFp16) beyond = 65520.0f;
  if (GetParam() == ValueType::kBf16) beyond = FloatOfBits(kBrainOverflowBits);
  if (GetParam() == ValueType::kFp8) beyond = 57344.0f;
  std::string frame;
  EXPECT_EQ(EncodeDense({1.0f, beyond}, GetParam(), &frame).code(), absl::StatusCode::kInvalidArgument);
}

// What is packed says the same, is never longer, and is told apart field by field.
TEST_P(FrameTest, PackedFramesSayTheSame) {
  size_t shorter = 0;
  for (const uint32_t size : {0u, 1u, 9u, 100u, 1000u, 20000u}) {
    for (const double density : {0.0, 0.01, 0.1, 0.3, 0.97, 1.0}) {
      const std::string frame = Encoded(RandomSparse(size, density, size), GetParam());
      std::vector<float> whole(size);
      ASSERT_TRUE(DecodeInto(frame, absl::MakeSpan(whole)).ok());
      std::string packed = frame;
      PackFrame(&packed);
      ASSERT_LE(packed.size(), frame.size());
      const absl::StatusOr<FrameHeader> header = DecodeHeader(packed);
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->packed, packed.size() < frame.size());
      shorter += header->packed;
      ExpectDecodesTo(packed, whole);
      const FrameBytes before = FrameBytesOf(frame), after = FrameBytesOf(packed);
      EXPECT_EQ(after.header + after.mask + after.values, packed.size());
      EXPECT_EQ(after.header, before.header);
      std::string again = packed;
      PackFrame(&again);
      EXPECT_EQ(again, packed);
    }
  }
  EXPECT_GT(shorter, 5u);
  std::string implied;
  ASSERT_TRUE(EncodeImplied(std::vector<float>(500, 1.5f), GetParam(), &implied).ok());
  PackFrame(&implied);
  EXPECT_TRUE(DecodeHeader(implied)->packed);
  std::vector<float> values(500);
  ASSERT_TRUE(DecodeImplied(implied, absl::MakeSpan(values)).ok());
  EXPECT_EQ(values, std::vector<float>(500, 1.5f));
}

TEST(FrameEdgesTest, Int8BlocksOfAnyLength) {
  const std::vector<float> values = NormalValues(1200, 4);
  for (const uint32_t block : {1u, 2u, 7u, 16u, 17u, 64u, 511u, 512u, 5000u}) {
    std::string frame;
    ASSERT_TRUE(EncodeDense(values, ValueType::kInt8, &frame, block).ok());
    EXPECT_EQ(DecodeHeader(frame)->block, block);
    std::vector<float> out(values.size()), sums(values.size());
    ASSERT_TRUE(DecodeInto(frame, absl::MakeSpan(out)).ok());
    ASSERT_EQ(out, AsSent(values, ValueType::kInt8, block)) << block;
    ASSERT_TRUE(DecodeAdd(frame, absl::MakeSpan(sums)).ok());
    ASSERT_EQ(sums, out) << block;
  }
}

TEST(FrameEdgesTest, Int8IsWithinHalfAStepOfItsBlock) {
  const std::vector<float> values = NormalValues(4096, 8);
  std::string frame;
  ASSERT_TRUE(EncodeDense(values, ValueType::kInt8, &frame, 16).ok());
  std::vector<float> out(values.size());
  ASSERT_TRUE(DecodeInto(frame, absl::MakeSpan(out)).ok());
  for (size_t begin = 0; begin < values.size(); begin += 16) {
    float largest = 0;
    for (size_t i = begin; i < begin + 16; ++i) largest = std::max(largest, std::fabs(values[i]));
    for (size_t i = begin; i < begin + 16; ++i) ASSERT_LE(std::fabs(out[i] - values[i]), largest / 127) << i;  // half of a step, 2 max/127
  }
}

TEST(FrameEdgesTest, Int8KeepsZerosAndTinyBlocks) {
  for (const float tiny : {0.0f, -0.0f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(), 1e-30f}) {
    std::string frame;
    ASSERT_TRUE(EncodeDense({tiny, -tiny, 0.0f}, ValueType::kInt8, &frame).ok());
    std::vector<float> out(3);
    ASSERT_TRUE(DecodeInto(frame, absl::MakeSpan(out)).ok());
    EXPECT_EQ(out, AsSent({tiny, -tiny, 0.0f}, ValueType::kInt8)) << tiny;
  }
}

TEST(FrameEdgesTest, EncodeSparseRefusesBadPositions) {
  std::string out;
  EXPECT_FALSE(EncodeSparse(10, {3, 3}, {1, 2}, ValueType::kFp32, &out).ok());
  EXPECT_FALSE(EncodeSparse(10, {4, 3}, {1, 2}, ValueType::kFp32, &out).ok());
  EXPECT_FALSE(EncodeSparse(10, {3, 10}, {1, 2}, ValueType::kFp32, &out).ok());
  EXPECT_FALSE(EncodeSparse(10, {3, 4}, {1}, ValueType::kFp32, &out).ok());
  EXPECT_EQ(out, "");
}

TEST(FrameBytesTest, AddUpToTheFrame) {
  std::string dense, sparse, int8;
  ASSERT_TRUE(EncodeDense(std::vector<float>(300, 1.0f), ValueType::kFp16, &dense).ok());
  FrameBytes bytes = FrameBytesOf(dense);
  EXPECT_EQ(bytes.values, 600u);
  EXPECT_EQ(bytes.mask, 0u);
  EXPECT_EQ(bytes.header, 4u + 2 + 2 + 4);  // sizes above 127 take two bytes
  ASSERT_TRUE(EncodeSparse(1000, {3, 700}, {1, 2}, ValueType::kFp32, &sparse).ok());
  bytes = FrameBytesOf(sparse);
  EXPECT_EQ(bytes.values, 8u);
  EXPECT_EQ(bytes.mask, 1u + 2);  // gaps of 3 and 696
  EXPECT_EQ(bytes.header + bytes.mask + bytes.values, sparse.size());
  ASSERT_TRUE(EncodeDense(std::vector<float>(64, 1.0f), ValueType::kInt8, &int8).ok());
  bytes = FrameBytesOf(int8);
  EXPECT_EQ(bytes.values, 64u + 2);
  EXPECT_EQ(bytes.header, 4u + 1 + 1 + 1 + 4);
}

TEST(FrameBytesTest, WhatIsNoFrameIsAllHeader) {
  EXPECT_EQ(FrameBytesOf("").header, 0u);
  std::string frame;
  ASSERT_TRUE(EncodeDense(std::vector<float>(3, 1.0f), ValueType::kFp32, &frame).ok());
  for (size_t length = 0; length < frame.size(); ++length) {
    const FrameBytes bytes = FrameBytesOf(absl::string_view(frame).substr(0, length));
    EXPECT_EQ(bytes.header + bytes.mask + bytes.values, length);
  }
}

}  // namespace
}  // namespace weir::compression
