// Sections: whatever bytes come back as they were, in no more room than they took, and near the entropy of their distribution.
#include "compression/packed_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "absl/strings/escaping.h"

namespace weir::compression {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes Geometric(size_t size, double p, uint32_t seed) {
  std::mt19937 random(seed);
  std::geometric_distribution<int> draw(p);
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(std::min(draw(random), 255));
  return bytes;
}

Bytes Uniform(size_t size, int symbols, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % symbols);
  return bytes;
}

std::string Section(const Bytes& bytes) {
  std::string section;
  AppendSection(bytes, &section);
  return section;
}

absl::StatusOr<Bytes> Read(const std::string& section, size_t size_max) {
  Bytes bytes = {42};
  const auto* at = reinterpret_cast<const uint8_t*>(section.data());
  const absl::StatusOr<const uint8_t*> end = ReadSection(at, at + section.size(), size_max, &bytes);
  if (!end.ok()) {
    EXPECT_EQ(bytes, Bytes{42});
    return end.status();
  }
  EXPECT_EQ(*end, SkipSection(at, at + section.size()));
  if (*end != at + section.size()) return absl::InvalidArgumentError("bytes after the section");
  bytes.erase(bytes.begin());
  return bytes;
}

double EntropyBytes(const Bytes& bytes) {
  std::array<double, 256> counts = {};
  for (const uint8_t byte : bytes) ++counts[byte];
  double bits = 0;
  for (const double count : counts) bits += count > 0 ? count * std::log2(static_cast<double>(bytes.size()) / count) : 0;
  return bits / 8;
}

TEST(PackedBytesTest, AnyBytesComeBack) {
  for (const size_t size : {0, 1, 2, 3, 5, 17, 100, 1023, 1024, 1025, 1027, 4096, 40001}) {
    for (const Bytes& bytes :
         {Geometric(size, 0.1, 1), Geometric(size, 0.9, 2), Uniform(size, 256, 3), Uniform(size, 3, 4), Bytes(size, 0), Bytes(size, 255)}) {
      const std::string section = Section(bytes);
      EXPECT_LE(section.size(), bytes.size() + 3);
      const absl::StatusOr<Bytes> read = Read(section, size);
      ASSERT_TRUE(read.ok()) << size << ": " << read.status();
      ASSERT_EQ(*read, bytes);
      if (size > 0) {
        EXPECT_FALSE(Read(section, size - 1).ok());
      }
    }
  }
}

TEST(PackedBytesTest, NearTheEntropy) {
  for (const double p : {0.02, 0.1, 0.3, 0.6}) {
    const Bytes bytes = Geometric(20000, p, 5);
    EXPECT_LT(static_cast<double>(Section(bytes).size()), EntropyBytes(bytes) * 1.06 + 150) << p;
  }
  EXPECT_LT(Section(Bytes(8000, 7)).size(), 1020u);  // a bit each
}

// Counts that grow like Fibonacci's numbers ask for codes of 20 bits and more; they are cut to the decoder's table.
TEST(PackedBytesTest, LongCodesAreCut) {
  Bytes bytes;
  for (size_t symbol = 0, count = 1, next = 1; symbol < 24; ++symbol) {
    bytes.insert(bytes.end(), count, static_cast<uint8_t>(symbol));
    next += count;
    std::swap(count, next);
  }
  for (int symbol = 24; symbol < 256; ++symbol) bytes.push_back(static_cast<uint8_t>(symbol));
  const std::string section = Section(bytes);
  EXPECT_LT(section.size(), bytes.size() / 2);
  EXPECT_EQ(*Read(section, bytes.size()), bytes);
}

// Cut or changed anywhere it is refused, or at least stays within its bounds: frames have a checksum, a section has not.
TEST(PackedBytesTest, DamageIsRefusedOrHarmless) {
  for (const Bytes& bytes : {Geometric(300, 0.2, 6), Geometric(3000, 0.2, 7)}) {
    const std::string section = Section(bytes);
    for (size_t cut = 0; cut < section.size(); ++cut) EXPECT_FALSE(Read(section.substr(0, cut), bytes.size()).ok()) << cut;
    for (size_t bit = 0; bit < section.size() * 8; ++bit) {
      std::string changed = section;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
      const absl::StatusOr<Bytes> read = Read(changed, bytes.size());
      if (read.ok()) {
        EXPECT_LE(read->size(), bytes.size());
      }
    }
  }
}

TEST(PackedBytesTest, TakesNoMemoryThatItsBytesDoNotJustify) {
  std::string lie = Section(Bytes(1000, 3));
  lie.replace(0, 2, absl::HexStringToBytes("ffffff7f"));  // of about 130 million bytes
  EXPECT_FALSE(Read(lie, size_t{1} << 40).ok());
}

}  // namespace
}  // namespace weir::compression
