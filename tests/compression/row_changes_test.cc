#include "compression/row_changes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

constexpr ValueType kTypes[] = {ValueType::kFp32, ValueType::kFp16, ValueType::kBf16, ValueType::kInt8, ValueType::kFp8};

// One exchange; the reader must have, to the bit, what the sender thinks it has.
FrameHeader Send(const std::vector<float>& rows, const RowChangeOptions& options, std::vector<float>* held, size_t* bytes = nullptr) {
  std::vector<float> reader = *held;
  std::string frame;
  const absl::Status encoded = EncodeRowChanges(rows, options, absl::MakeSpan(*held), &frame);
  EXPECT_TRUE(encoded.ok()) << encoded;
  const absl::StatusOr<FrameHeader> decoded = DecodeRowChanges(frame, absl::MakeSpan(reader));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  for (size_t i = 0; i < reader.size(); ++i) EXPECT_EQ(std::signbit(reader[i]), std::signbit((*held)[i])) << i;
  EXPECT_EQ(reader, *held);
  if (bytes != nullptr) *bytes = frame.size();
  return decoded.value_or(FrameHeader());
}

TEST(RowChangesTest, SparsityZeroBringsTheRowsExactly) {
  for (const size_t size : {0u, 1u, 7u, 64u, 1000u}) {
    std::vector<float> held(size, 0.0f);
    for (uint32_t step = 0; step < 3; ++step) {
      std::vector<float> rows = step == 1 ? held : NormalValues(size, step);
      if (step == 1 && size > 3) rows[3] = 1e-30f;  // one change only
      Send(rows, {0, ValueType::kFp32}, &held);
      ASSERT_EQ(held, rows) << size << " " << step;
    }
  }
}

// A dense frame cannot tell an entry that became zero from one that was not kept.
TEST(RowChangesTest, EntriesThatBecomeZeroArrive) {
  for (const ValueType type : kTypes) {
    for (const size_t zeros : {1u, 50u, 100u}) {
      std::vector<float> rows(100, 2.0f), held(100, 0.0f);
      Send(rows, {0, type}, &held);
      ASSERT_EQ(held, rows);
      for (size_t i = 0; i < zeros; ++i) rows[i] = 0;
      Send(rows, {0, type}, &held);
      ASSERT_EQ(held, rows) << zeros;
    }
  }
}

TEST(RowChangesTest, OnlyTheLargestChangesTravel) {
  std::vector<float> rows = DistinctValues(1000, 5), held(1000, 0.0f);
  const FrameHeader header = Send(rows, {0.9, ValueType::kFp32}, &held);
  EXPECT_EQ(header.size, 1000);
  EXPECT_EQ(header.kept, 101);  // the 900th smallest magnitude and all above
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(held[i], std::fabs(rows[i]) >= 900 ? rows[i] : 0.0f);
}

// What did not travel is late, not lost: when rows stand still, the reader ends with them.
TEST(RowChangesTest, NothingIsLost) {
  for (const ValueType type : kTypes) {
    std::vector<float> rows(512, 0.0f), held(512, 0.0f);
    for (uint32_t step = 0; step < 20; ++step) {
      const std::vector<float> move = NormalValues(512, step);
      for (size_t i = 0; i < rows.size(); ++i) rows[i] += 0.1f * move[i];
      Send(rows, {0.8, type}, &held);
    }
    size_t bytes = 0;
    for (uint32_t step = 0; step < 60; ++step) Send(rows, {0.8, type}, &held, &bytes);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_NEAR(held[i], rows[i], 1e-6) << i;
    EXPECT_LT(bytes, 512u) << "rows that stand still cost next to nothing";
  }
}

TEST(RowChangesTest, RefusesWhatIsNotFiniteAndChangesNothing) {
  const std::vector<float> before = {1, 2, 3};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> held = before;
    std::string frame = "kept";
    const absl::Status status = EncodeRowChanges({4, bad, 5}, {0, ValueType::kInt8}, absl::MakeSpan(held), &frame);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(" 1 of 3"), std::string::npos) << status;
    EXPECT_EQ(held, before);
    EXPECT_EQ(frame, "kept");
  }
}

TEST(RowChangesTest, DecodeRefusesAFrameOfAnotherSize) {
  std::vector<float> held(3, 0.0f), reader(4, 7.0f);
  std::string frame;
  ASSERT_TRUE(EncodeRowChanges({1, 2, 3}, {0, ValueType::kFp32}, absl::MakeSpan(held), &frame).ok());
  EXPECT_FALSE(DecodeRowChanges(frame, absl::MakeSpan(reader)).ok());
  EXPECT_FALSE(DecodeRowChanges(frame.substr(1), absl::MakeSpan(held)).ok());
  EXPECT_EQ(reader, std::vector<float>(4, 7.0f));
}

}  // namespace
}  // namespace weir::compression
