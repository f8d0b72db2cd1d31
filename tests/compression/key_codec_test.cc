#include "compression/key_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/limits.h"

namespace weir::compression {
namespace {

std::vector<Key> RandomSortedKeys(size_t count, int bits, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(count);
  for (Key& key : keys) key = random() >> (64 - bits);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// 2^(7k) and one either side: where a varint grows.
std::vector<uint64_t> PowersAndNeighbours() {
  std::vector<uint64_t> numbers = {0, 1, UINT64_MAX - 1, UINT64_MAX};
  for (int shift = 7; shift < 64; shift += 7) {
    for (const int delta : {-1, 0, 1}) numbers.push_back((uint64_t{1} << shift) + delta);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

TEST(KeyCodecTest, RawKeysKeepOrderAndDuplicates) {
  const std::vector<Key> keys = {5, UINT64_MAX, 0, 5, 0x0102030405060708};
  std::string bytes = "x";
  EncodeKeysRaw(keys, &bytes);
  EXPECT_EQ(bytes.size(), 1 + 8 * keys.size());
  EXPECT_EQ(bytes.substr(33), absl::HexStringToBytes("0807060504030201"));
  EXPECT_EQ(*DecodeKeysRaw(bytes.substr(1), 5), keys);
  EXPECT_EQ(DecodeKeysRaw("", 0)->size(), 0);
}

TEST(KeyCodecTest, RiceRoundTrips) {
  for (const std::vector<Key>& keys : {PowersAndNeighbours(),
                                       RandomSortedKeys(5000, 64, 1),
                                       RandomSortedKeys(5000, 13, 2),
                                       RandomSortedKeys(40, 64, 3),
                                       RandomSortedKeys(300, 20, 4),
                                       {},
                                       {0},
                                       {UINT64_MAX},
                                       {0, UINT64_MAX},
                                       {0, 1, 2, 3, 4, 5, 6, 7, 8}}) {
    std::string bytes;
    EncodeKeysRice(keys, &bytes);
    const auto decoded = DecodeKeysRice(bytes, static_cast<uint32_t>(keys.size()));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, keys);
    EXPECT_FALSE(DecodeKeysRice(bytes + '\0', static_cast<uint32_t>(keys.size())).ok());
    EXPECT_FALSE(DecodeKeysRice(bytes, static_cast<uint32_t>(keys.size() + 100)).ok());
    for (size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 50) {
      EXPECT_FALSE(DecodeKeysRice(bytes.substr(0, cut), static_cast<uint32_t>(keys.size())).ok()) << cut;
    }
  }
}

// Keys that lie at random: the logarithm of their mean distance and about 1.5 bits; a varint rounds up to 7 bits.
TEST(KeyCodecTest, RiceTakesFewBits) {
  for (const int bits : {13, 20, 64}) {
    const std::vector<Key> keys = RandomSortedKeys(500, bits, 5);
    std::string rice, varints;
    EncodeKeysRice(keys, &rice);
    EncodeKeysSorted(keys, &varints);
    const double mean_bits = bits - std::log2(static_cast<double>(keys.size()));
    EXPECT_LT(8.0 * static_cast<double>(rice.size()) / static_cast<double>(keys.size()), mean_bits + 1.8) << bits;
    EXPECT_LT(static_cast<double>(rice.size()), 0.95 * static_cast<double>(varints.size())) << bits;
  }
}

TEST(KeyCodecTest, RiceCodesInBytes) {
  std::string bytes;
  // The mean is 6 / 3 = 2, of two bits; s = 32, so that one bit goes as it is: the gap 1 is 0 1. Then s = 32 + 1 - 2 = 31 and none does:
  // the gap 2 is 110. Then s = 31 + 2 - 1 = 32: the gap 1 is 0 1. From the lowest bit: 01 110 01.
  EncodeKeysRice(std::vector<Key>{1, 4, 6}, &bytes);
  EXPECT_EQ(bytes, absl::HexStringToBytes("024e"));
}

TEST(KeyCodecTest, SortedKeysInBytes) {
  std::string bytes;
  EncodeKeysSorted(std::vector<Key>{3, 4, 132, 16516}, &bytes);  // 3, +1, +128, +16384
  EXPECT_EQ(bytes, absl::HexStringToBytes("03018001808001"));
  bytes.clear();
  EncodeKeysSorted(std::vector<Key>{0, UINT64_MAX}, &bytes);
  EXPECT_EQ(bytes, absl::HexStringToBytes("00ffffffffffffffffff01"));
}

TEST(KeyCodecTest, SortedRoundTrips) {
  for (const std::vector<Key>& keys :
       {PowersAndNeighbours(), RandomSortedKeys(5000, 64, 1), RandomSortedKeys(5000, 13, 2), {}, {UINT64_MAX}}) {
    std::string bytes;
    EncodeKeysSorted(keys, &bytes);
    const auto decoded = DecodeKeysSorted(bytes, static_cast<uint32_t>(keys.size()));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, keys);
  }
}

TEST(KeyCodecTest, EveryCutAndEveryWrongCountIsRefused) {
  const std::vector<Key> keys = PowersAndNeighbours();
  const uint32_t count = static_cast<uint32_t>(keys.size());
  std::string sorted, raw;
  EncodeKeysSorted(keys, &sorted);
  EncodeKeysRaw(keys, &raw);
  for (size_t size = 0; size < sorted.size(); ++size) EXPECT_FALSE(DecodeKeysSorted(sorted.substr(0, size), count).ok()) << size;
  for (size_t size = 0; size < raw.size(); ++size) EXPECT_FALSE(DecodeKeysRaw(raw.substr(0, size), count).ok()) << size;
  for (const uint32_t wrong : {0u, count - 1, count + 1, UINT32_MAX}) {
    EXPECT_EQ(DecodeKeysSorted(sorted, wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_EQ(DecodeKeysRaw(raw, wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_EQ(DecodeVarints(sorted, wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(KeyCodecTest, RefusesWhatIsNotStrictlyIncreasingOrCanonical) {
  const auto refuses = [](absl::string_view hex, uint32_t count) { return !DecodeKeysSorted(absl::HexStringToBytes(hex), count).ok(); };
  EXPECT_TRUE(refuses("0500", 2));  // the same key twice
  EXPECT_TRUE(refuses("0000", 2));
  EXPECT_TRUE(refuses("05ffffffffffffffffff01", 2));  // beyond 2^64
  EXPECT_TRUE(refuses("ffffffffffffffffff02", 1));    // 65 bits
  EXPECT_TRUE(refuses("ffffffffffffffffffff01", 1));  // 11 bytes
  EXPECT_TRUE(refuses("8500", 1));                    // 5, longer than need be
  EXPECT_TRUE(refuses("8000", 1));
  EXPECT_FALSE(refuses("00", 1));
  EXPECT_FALSE(refuses("ffffffffffffffffff01", 1));
}

TEST(KeyCodecTest, RefusesMoreKeysThanACallMayHave) {
  const std::string bytes(size_t{kKeysPerTableCallMax} + 1, '\x01');
  EXPECT_FALSE(DecodeKeysSorted(bytes, kKeysPerTableCallMax + 1).ok());
  EXPECT_TRUE(DecodeKeysSorted(absl::string_view(bytes).substr(1), kKeysPerTableCallMax).ok());
}

TEST(KeyCodecTest, VarintsRoundTripAndStayBelow32Bits) {
  std::vector<uint32_t> numbers;
  for (const uint64_t number : PowersAndNeighbours()) {
    if (number <= UINT32_MAX) numbers.push_back(static_cast<uint32_t>(number));
  }
  numbers.push_back(UINT32_MAX);
  numbers.push_back(0);
  std::string bytes;
  EncodeVarints(numbers, &bytes);
  EXPECT_EQ(*DecodeVarints(bytes, static_cast<uint32_t>(numbers.size())), numbers);
  EXPECT_FALSE(DecodeVarints(absl::HexStringToBytes("8080808010"), 1).ok());  // 2^32
  EXPECT_TRUE(DecodeVarints(absl::HexStringToBytes("ffffffff0f"), 1).ok());
}

}  // namespace
}  // namespace weir::compression
