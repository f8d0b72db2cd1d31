// Error-bounded rows: the bound holds for every entry, and how codes are written never changes a value.
#include "compression/bounded_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "compression/frame.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

constexpr CodeEncoding kAll[] = {CodeEncoding::kCodes, CodeEncoding::kPacked, CodeEncoding::kRepeats, CodeEncoding::kRepeatsPacked};
constexpr double kBounds[] = {1.0, 0.1, 0.03, 0.01, 0.001, 1e-4, 1e-6};

std::vector<float> Read(const std::string& frame, size_t size) {
  std::vector<float> out(size, 7.0f);
  const absl::Status status = DecodeInto(frame, absl::MakeSpan(out));
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

std::string Frame(const BoundedRows& rows, CodeEncoding encoding) {
  std::string frame;
  EXPECT_TRUE(rows.Encode(encoding, &frame).ok());
  return frame;
}

std::vector<std::vector<float>> Samples() {
  using Limits = std::numeric_limits<float>;
  std::vector<std::vector<float>> samples = {NormalValues(256, 1), DistinctValues(512, 2), EdgeValues(), {}, {0, 0, 0, 0}, {3, 3, 3, 3}};
  std::vector<float> denormal = NormalValues(64, 3), shifted = NormalValues(64, 4), huge = NormalValues(64, 5), close(64);
  for (float& value : denormal) value *= 1e-41f;
  for (float& value : shifted) value = 1000 + value * 0.01f;
  for (float& value : huge) value = std::clamp(value * 1e38f, Limits::lowest(), Limits::max());
  for (size_t i = 0; i < close.size(); ++i) close[i] = i % 2 == 0 ? 1.0f : std::nextafter(1.0f, 2.0f);
  samples.insert(samples.end(), {denormal, shifted, huge, close});
  return samples;
}

TEST(BoundedRowsTest, NoEntryIsOffByMoreThanTheBound) {
  BoundedRows rows;
  for (const std::vector<float>& values : Samples()) {
    for (const double bound : kBounds) {
      ASSERT_TRUE(rows.Round(values, 4, bound).ok());
      const std::vector<float> read = Read(Frame(rows, CodeEncoding::kCodes), values.size());
      if (values.empty()) continue;
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      const double allowed = bound * (double{*high} - double{*low});
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_LE(std::fabs(double{values[i]} - double{read[i]}), allowed) << values[i] << " as " << read[i] << ", bound " << bound;
      }
    }
  }
}

TEST(BoundedRowsTest, EveryEncodingBringsTheSameBits) {
  BoundedRows rows;
  for (const std::vector<float>& values : Samples()) {
    for (const double bound : kBounds) {
      ASSERT_TRUE(rows.Round(values, 4, bound).ok());
      const std::vector<float> codes = Read(Frame(rows, CodeEncoding::kCodes), values.size());
      for (const CodeEncoding encoding : kAll) {
        const std::vector<float> read = Read(Frame(rows, encoding), values.size());
        ASSERT_TRUE(values.empty() || std::memcmp(read.data(), codes.data(), values.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST(BoundedRowsTest, TightBoundsAreKeptByRowsAsTheyAre) {
  BoundedRows rows;
  const std::vector<float> values = NormalValues(64, 6);
  ASSERT_TRUE(rows.Round(values, 16, 1e-9).ok());
  EXPECT_FALSE(rows.rounded());
  EXPECT_EQ(Read(Frame(rows, CodeEncoding::kPacked), 64), values);
  ASSERT_TRUE(rows.Round(values, 16, 0.01).ok());
  EXPECT_TRUE(rows.rounded());
}

TEST(BoundedRowsTest, RowsThatRepeatTravelOnce) {
  std::vector<float> values;
  const std::vector<float> hot = NormalValues(16, 7);
  for (int i = 0; i < 1000; ++i) values.insert(values.end(), hot.begin(), hot.end());
  BoundedRows rows;
  ASSERT_TRUE(rows.Round(values, 16, 0.01).ok());
  EXPECT_LT(Frame(rows, CodeEncoding::kRepeats).size(), 50u);
  EXPECT_EQ(rows.DistinctBefore(), 1u);
  // One of 33 rows in turn: each is just out of the window's reach.
  const std::vector<float> many = NormalValues(16 * 33, 8);
  values.clear();
  for (int i = 0; i < 10; ++i) values.insert(values.end(), many.begin(), many.end());
  ASSERT_TRUE(rows.Round(values, 16, 0.001).ok());
  EXPECT_GT(Frame(rows, CodeEncoding::kRepeats).size(), values.size());
  EXPECT_EQ(Read(Frame(rows, CodeEncoding::kRepeats), values.size()), Read(Frame(rows, CodeEncoding::kCodes), values.size()));
}

TEST(BoundedRowsTest, NotANumberIsNamed) {
  BoundedRows rows;
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const absl::Status status = rows.Round({1, 2, bad, 4}, 2, 0.1);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("value 2 of 4"), std::string::npos);
  }
}

// Small differences beside a few large rows are what a bound relative to the range swallows.
TEST(BoundedRowsTest, CollapsingRowsAreCounted) {
  std::vector<float> values = NormalValues(16 * 500, 9);
  for (size_t i = 16 * 50; i < values.size(); ++i) values[i] *= 0.001f;
  BoundedRows rows;
  ASSERT_TRUE(rows.Round(values, 16, 0.03).ok());
  EXPECT_EQ(rows.DistinctBefore(), 500u);
  EXPECT_EQ(rows.DistinctAfter(), 51u);
  EXPECT_EQ(BoundFactor(1 - 51.0 / 500), 1.0 / 3);
  EXPECT_EQ(BoundFactor(0), 5.0 / 3);
  EXPECT_EQ(BoundFactor(0.05), 1.0);
}

// The figures of the paper's artifact: 2.0, 1.9, ... 1.1, then 1.
TEST(BoundedRowsTest, TheBoundFallsInTenSteps) {
  for (int tenth = 0; tenth < 10; ++tenth) {
    EXPECT_NEAR(BoundDecay(2, 65536, static_cast<uint64_t>(std::ceil(6553.6 * tenth))), 2.0 - 0.1 * tenth, 1e-12);
  }
  EXPECT_EQ(BoundDecay(2, 65536, 65536), 1);
  EXPECT_EQ(BoundDecay(2, 0, 0), 1);
  EXPECT_EQ(BoundDecay(1, 100, 3), 1);
}

// A slow link asks for the fewest bytes, a fast one for the least time.
TEST(EncodingChooserTest, ChoosesByTheLink) {
  std::vector<float> values = NormalValues(16 * 4000, 10);
  BoundedRows rows;
  ASSERT_TRUE(rows.Round(values, 16, 0.03).ok());
  EncodingChooser slow(1), fast(1e15);
  std::string frame;
  ASSERT_TRUE(slow.Encode(rows, &frame).ok());
  EXPECT_EQ(slow.choice(), CodeEncoding::kPacked);
  ASSERT_TRUE(fast.Encode(rows, &frame).ok());
  EXPECT_EQ(fast.choice(), CodeEncoding::kCodes);
  // Hot rows over and over.
  for (size_t i = 16; i < values.size(); ++i) values[i] = values[i % 16];
  ASSERT_TRUE(rows.Round(values, 16, 0.03).ok());
  EncodingChooser hot(1);
  ASSERT_TRUE(hot.Encode(rows, &frame).ok());
  EXPECT_GE(hot.choice(), CodeEncoding::kRepeats) << "packing does not matter then";
}

TEST(EncodingChooserTest, TheModelIsThePapers) { EXPECT_DOUBLE_EQ(ModelledSpeedup(4, 4e9, 60e9, 40e9), 1 / (0.25 + 4.0 / 60 + 4.0 / 40)); }

}  // namespace
}  // namespace weir::compression
