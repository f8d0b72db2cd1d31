#include "compression/varint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace weir::compression {
namespace {

std::vector<uint64_t> Values() {
  std::vector<uint64_t> values = {0, ~uint64_t{0}};
  for (int bits = 0; bits < 64; ++bits) {
    for (const int64_t near : {-1, 0, 1}) values.push_back((uint64_t{1} << bits) + near);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) values.push_back(random() >> random() % 64);
  return values;
}

TEST(VarintTest, BothWritersWriteTheSameBytes) {
  for (const uint64_t value : Values()) {
    uint8_t slow[kVarintBytesMax], fast[kVarintBytesMax];
    const size_t size = WriteVarint(value, slow) - slow;
    EXPECT_EQ(size, VarintBytes(value));
    ASSERT_EQ(WriteVarintFast(value, fast) - fast, static_cast<ptrdiff_t>(size)) << value;
    EXPECT_EQ(std::memcmp(slow, fast, size), 0) << value;
  }
}

// With none, some and a word of bytes behind it; cut off anywhere; and in a form that is longer than need be.
TEST(VarintTest, ReadsWhatWasWrittenAndNothingElse) {
  for (const uint64_t value : Values()) {
    uint8_t bytes[2 * kVarintBytesMax] = {};
    uint8_t* const end = WriteVarint(value, bytes);
    for (const size_t behind : {0, 1, 3, 8}) {
      for (const uint8_t filler : {0x00, 0x80, 0xff}) {
        std::memset(end, filler, behind);
        uint64_t read = ~value;
        ASSERT_EQ(ReadVarint(bytes, end + behind, &read), end) << value;
        EXPECT_EQ(read, value);
      }
    }
    uint64_t unused;
    for (const uint8_t* cut = bytes; cut < end; ++cut) EXPECT_EQ(ReadVarint(bytes, cut, &unused), nullptr);
    end[-1] |= 0x80;
    end[0] = 0;
    for (const size_t behind : {1, 8}) EXPECT_EQ(ReadVarint(bytes, end + behind, &unused), nullptr) << value;
  }
}

}  // namespace
}  // namespace weir::compression
