// What is not a well-formed frame is refused by every decoder, before memory is taken and without a trace in the output.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/limits.h"
#include "compression/bounded_rows.h"
#include "compression/frame.h"
#include "compression/frame_parse.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

// With the checksum that belongs to it: what only a hostile or broken encoder sends.
std::string Sealed(absl::string_view hex) {
  std::string frame = absl::HexStringToBytes(hex);
  const uint32_t checksum = static_cast<uint32_t>(XXH3_64bits(frame.data(), frame.size()));
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(checksum >> shift & 0xff));
  return frame;
}

// The status of all decoders, which must agree and leave the output alone.
absl::Status Refusal(absl::string_view frame, uint32_t size) {
  const absl::Status status = DecodeHeader(frame).status();
  std::vector<float> out(size, 7.0f);
  for (const absl::Status& other : {DecodeInto(frame, absl::MakeSpan(out)), DecodeAdd(frame, absl::MakeSpan(out)),
                                    DecodeSparse(frame, size).status(), DecodeImplied(frame, absl::MakeSpan(out))}) {
    EXPECT_EQ(other.code(), status.code()) << other << " but " << status;
  }
  EXPECT_EQ(out, std::vector<float>(size, 7.0f));
  return status;
}

std::vector<std::string> GoodFrames() {
  std::vector<std::string> frames;
  for (const ValueType type : {ValueType::kFp32, ValueType::kFp16, ValueType::kBf16, ValueType::kInt8, ValueType::kFp8}) {
    EXPECT_TRUE(EncodeDense(NormalValues(20, 1), type, &frames.emplace_back()).ok());
    EXPECT_TRUE(EncodeImplied(NormalValues(20, 2), type, &frames.emplace_back()).ok());
    for (const double density : {0.02, 0.3}) {
      const std::vector<uint32_t> positions = RandomPositions(300, density, 3);
      EXPECT_TRUE(EncodeSparse(300, positions, NormalValues(positions.size(), 4), type, &frames.emplace_back()).ok());
    }
  }
  BoundedRows rows;
  std::vector<float> repeating = NormalValues(40, 5);
  std::copy_n(repeating.begin(), 16, repeating.begin() + 20);
  for (const double bound : {0.03, 0.0005}) {
    EXPECT_TRUE(rows.Round(repeating, 4, bound).ok());
    for (int i = 0; i < kCodeEncodings; ++i) EXPECT_TRUE(rows.Encode(static_cast<CodeEncoding>(i), &frames.emplace_back()).ok());
  }
  for (size_t i = 0, count = frames.size(); i < count; ++i) {
    std::string packed = frames[i];
    PackFrame(&packed);
    if (packed != frames[i]) frames.push_back(packed);
  }
  return frames;
}

TEST(FrameRefusalTest, EveryCut) {
  for (const std::string& frame : GoodFrames()) {
    const uint32_t size = DecodeHeader(frame)->size;
    for (size_t bytes = 0; bytes < frame.size(); ++bytes) EXPECT_FALSE(Refusal(frame.substr(0, bytes), size).ok()) << bytes;
    EXPECT_FALSE(Refusal(frame + '\0', size).ok());
  }
}

TEST(FrameRefusalTest, EveryFlippedBit) {
  for (const std::string& frame : GoodFrames()) {
    const uint32_t size = DecodeHeader(frame)->size;
    for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
      std::string damaged = frame;
      damaged[bit / 8] ^= 1 << bit % 8;
      const absl::Status status = Refusal(damaged, size);
      // Magic and version are looked at before the checksum, whose rule they name.
      EXPECT_EQ(status.code(), bit < 16 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss) << bit << ": " << status;
    }
  }
}

TEST(FrameRefusalTest, WrongSizeOrKind) {
  std::string dense, implied;
  ASSERT_TRUE(EncodeDense({1, 2, 3}, ValueType::kFp32, &dense).ok());
  ASSERT_TRUE(EncodeImplied({1, 2, 3}, ValueType::kFp32, &implied).ok());
  std::vector<float> two(2, 7.0f), three(3, 7.0f);
  EXPECT_FALSE(DecodeInto(dense, absl::MakeSpan(two)).ok());
  EXPECT_FALSE(DecodeAdd(dense, absl::MakeSpan(two)).ok());
  EXPECT_FALSE(DecodeSparse(dense, 2).ok());
  EXPECT_FALSE(DecodeImplied(implied, absl::MakeSpan(two)).ok());
  EXPECT_FALSE(DecodeInto(implied, absl::MakeSpan(three)).ok());
  EXPECT_FALSE(DecodeAdd(implied, absl::MakeSpan(three)).ok());
  EXPECT_FALSE(DecodeSparse(implied, 3).ok());
  EXPECT_FALSE(DecodeImplied(dense, absl::MakeSpan(three)).ok());
  EXPECT_EQ(two, std::vector<float>(2, 7.0f));
  EXPECT_EQ(three, std::vector<float>(3, 7.0f));
}

struct Malformed {
  const char* why;
  const char* hex;  // without checksum
};

TEST(FrameRefusalTest, LyingEncoders) {
  const std::vector<Malformed> cases = {
      {"unknown layout", "570104000101 0000803f"},
      {"unknown value type", "570100040101 0000803f"},
      {"next version", "570200000101 0000803f"},
      {"another magic", "580100000101 0000803f"},
      {"size in a long varint", "57010000810001 0000803f"},
      {"no kept count", "5701000001"},
      {"size of 11 bytes", "57010000 ffffffffffffffffffff01 01"},
      {"more kept than size", "570101000102 03 0000803f0000803f"},
      {"dense but not all kept", "570100000201 0000803f"},
      {"implied but not all kept", "570103000201 0000803f"},
      {"dense, a byte too many", "570100000101 0000803f00"},
      {"fp16 values where fp32 are promised", "570100000101 003c"},
      {"bitmap too short", "570101000901 01 0000803f"},
      {"bitmap too long", "570101000801 0100 0000803f"},
      {"bitmap marks more", "570101000801 03 0000803f"},
      {"bitmap marks fewer", "570101000802 01 0000803f0000803f"},
      {"bitmap beyond the size", "570101000401 10 0000803f"},
      {"gap beyond the size", "570102000401 04 0000803f"},
      {"gaps add up beyond the size", "570102000402 0202 0000803f0000803f"},
      {"long gap", "570102000401 8100 0000803f"},
      {"gap cut off by the values", "570102000401 81 0000803f"},
      {"a gap too many", "570102000401 0101 0000803f"},
      {"gap of 64 bits", "570102000401 ffffffffffffffffff01 0000803f"},
      {"int8 without a block size", "570100030101"},
      {"int8 with a block size in a long varint", "570100030101 a000 7f05"},
      {"int8 with blocks of nothing", "570100030101 00 7f05"},
      {"int8 with blocks beyond the limit", "570100030101 81808020 7f05"},
      {"int8 without its scale", "570100030101 20 05"},
      {"int8 with a scale beyond fp32", "570100030101 20 f905"},
      {"int8 with a scale beyond fp32 in its last block", "570100030303 02 7f0505f905"},
      {"steps without a width", "570100050101"},
      {"steps of rows of nothing", "570100050101 00 803f 00 05"},
      {"steps of half a row", "570100050303 02 803f 00 050505"},
      {"steps of zero", "570100050101 01 0000 00 05"},
      {"steps below zero", "570100050101 01 80bf 00 05"},
      {"steps of infinity", "570100050101 01 807f 00 05"},
      {"steps that are no number", "570100050101 01 c07f 00 05"},
      {"steps from too far", "570100050101 01 803f 818004 05"},
      {"steps behind a mask", "570101050101 01 803f 00 01 05"},
      {"steps that are implied", "570103050101 01 803f 00 05"},
      {"rows of fp32 that repeat", "570104000202 02 0000803f0000803f"},
      {"a repeat before the first row", "570104050201 01 803f 00 000101 05"},
      {"a repeat from before the first row", "570104050201 01 803f 00 010201 05"},
      {"a repeat of no rows", "570104050201 01 803f 00 010100 05"},
      {"a repeat of too many rows", "570104050201 01 803f 00 010102 05"},
      {"a repeat without its length", "570104050201 01 803f 00 0101 05"},
      {"fewer rows than there are", "570104050301 01 803f 00 010101 05"},
      {"more rows than travel", "570104050201 01 803f 00 020101 05"},
      {"packed: no section", "570180050101 01 803f 00"},
      {"packed: a section of another size", "570180050101 01 803f 00 040506"},
      {"packed: a section cut off", "570180050101 01 803f 00 02"},
      {"packed: bytes after its values", "570180050101 01 803f 00 020505"},
      {"packed: one plane of two", "570180010101 02003c"},
      {"packed: a code of nothing", "570180050101 01 803f 00 0104050501"},
      {"packed: a code of more bytes than it can hold", "570180054040 01 803f 00 81010405050100"},
      {"packed: code lengths that leave room", "570180050202 01 803f 00 0504050622 0000"},
      {"packed: a stream that goes on", "570180050202 01 803f 00 0504050611 0200"},
  };
  for (const Malformed& bad : cases) {
    std::string hex(bad.hex);
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    EXPECT_EQ(Refusal(Sealed(hex), 4).code(), absl::StatusCode::kInvalidArgument) << bad.why;
  }
  // The same form, well made, is read: the cases above fail for the reason they name.
  for (const char* good :
       {"5701000001010000803f", "570101000401080000803f", "570102000401030000803f", "570100030101207f05", "570100030303027f05057f05",
        "57010005010101803f0005", "57010405020101803f00010101 05", "57018005010101803f000205", "5701800502020180 3f00 0504050611 02"}) {
    std::string hex(good);
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    EXPECT_TRUE(DecodeHeader(Sealed(hex)).ok()) << good << ": " << DecodeHeader(Sealed(hex)).status();
  }
}

TEST(FrameRefusalTest, OversizedCountsTakeNoMemory) {
  // 2^26 entries by the limit, one more, and 2^63: a few bytes each. DecodeSparse would have to allocate for `kept`.
  EXPECT_FALSE(DecodeSparse(Sealed("5701000080808020808080200000803f"), kFrameEntriesMax).ok());
  EXPECT_FALSE(DecodeSparse(Sealed("57010200808080208080802000"), kFrameEntriesMax).ok());
  EXPECT_FALSE(DecodeHeader(Sealed("570102008180802000")).ok());
  EXPECT_FALSE(DecodeHeader(Sealed("570102008080808080808080800100")).ok());
  EXPECT_TRUE(DecodeHeader(Sealed("570102008080802000")).ok());  // the limit itself, nothing kept
  EXPECT_EQ(DecodeSparse(Sealed("570102008080802000"), kFrameEntriesMax)->positions.size(), 0);
}

// Who knows the size that it wants can refuse a packed frame before anything is unpacked.
TEST(FrameRefusalTest, HeadersAreReadAlone) {
  std::string packed;
  ASSERT_TRUE(EncodeDense(std::vector<float>(5000, 1.0f), ValueType::kFp8, &packed).ok());
  PackFrame(&packed);
  absl::StatusOr<Frame> frame = ParseHeader(packed);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_TRUE(frame->header.packed);
  EXPECT_EQ(frame->header.size, 5000u);
  EXPECT_EQ(frame->unpacked.capacity(), 0u);
  ASSERT_TRUE(ParseBody(&*frame).ok());
  EXPECT_EQ(frame->unpacked.size(), 5000u);
  EXPECT_TRUE(CheckMask(*frame).ok());
}

TEST(FrameRefusalTest, ValuesAreNotLookedAt) {
  std::vector<float> out(1);
  ASSERT_TRUE(DecodeInto(Sealed("5701000001010000c07f"), absl::MakeSpan(out)).ok());
  EXPECT_TRUE(std::isnan(out[0]));
}

}  // namespace
}  // namespace weir::compression
