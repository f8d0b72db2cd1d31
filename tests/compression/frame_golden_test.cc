// Frames that were written once are read for ever: tests/golden/frames.golden holds them, with what they say.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "compression/bounded_rows.h"
#include "compression/frame.h"
#include "compression/key_codec.h"

namespace weir::compression {
namespace {

// Lines "name: hex bytes", spaces between the fields; '#' begins a comment.
std::map<std::string, std::string> ReadGolden() {
  std::map<std::string, std::string> bytes_of_name;
  std::ifstream file("tests/golden/frames.golden");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::string hex = line.substr(colon + 1);
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    bytes_of_name[line.substr(0, colon)] = absl::HexStringToBytes(hex);
  }
  return bytes_of_name;
}

struct GoldenFrame {
  const char* name;
  ValueType type;
  uint32_t size;
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

std::vector<GoldenFrame> GoldenFrames() {
  return {
      {"dense fp32", ValueType::kFp32, 3, {0, 1, 2}, {1.0f, -2.5f, 0.1f}},
      {"dense fp16", ValueType::kFp16, 3, {0, 1, 2}, {1.0f, -2.5f, 0.1f}},
      {"bitmap fp32", ValueType::kFp32, 20, {0, 3, 8, 19}, {1.0f, -2.0f, 0.5f, 4.0f}},
      {"bitmap fp16", ValueType::kFp16, 20, {0, 3, 8, 19}, {1.0f, -2.0f, 0.5f, 4.0f}},
      {"gaps fp32", ValueType::kFp32, 1000, {5, 6, 300}, {1.0f, -1.5f, 0.25f}},
      {"gaps fp16", ValueType::kFp16, 1000, {5, 6, 300}, {1.0f, -1.5f, 0.25f}},
      {"dense bf16", ValueType::kBf16, 3, {0, 1, 2}, {1.0f, -2.5f, 0.1f}},
      {"gaps bf16", ValueType::kBf16, 1000, {5, 6, 300}, {1.0f, -1.5f, 0.25f}},
      {"dense int8", ValueType::kInt8, 3, {0, 1, 2}, {1.0f, -2.5f, 0.1f}},
      {"gaps int8", ValueType::kInt8, 1000, {5, 6, 300}, {1.0f, -1.5f, 0.25f}},
      {"dense fp8", ValueType::kFp8, 3, {0, 1, 2}, {1.0f, -2.5f, 0.1f}},
      {"gaps fp8", ValueType::kFp8, 1000, {5, 6, 300}, {1.0f, -1.5f, 0.25f}},
      {"nothing kept", ValueType::kFp32, 100, {}, {}},
      {"no entries", ValueType::kFp32, 0, {}, {}},
  };
}

TEST(FrameGoldenTest, FramesAreWrittenAndReadAsEver) {
  std::map<std::string, std::string> golden = ReadGolden();
  for (const GoldenFrame& expected : GoldenFrames()) {
    const std::string& bytes = golden[expected.name];
    std::string frame;
    ASSERT_TRUE(EncodeSparse(expected.size, expected.positions, expected.values, expected.type, &frame).ok());
    EXPECT_EQ(absl::BytesToHexString(frame), absl::BytesToHexString(bytes)) << expected.name;
    const auto entries = DecodeSparse(bytes, expected.size);
    ASSERT_TRUE(entries.ok()) << expected.name << ": " << entries.status();
    EXPECT_EQ(entries->positions, expected.positions) << expected.name;
    std::vector<float> rounded = expected.values;
    RoundValues(expected.type, absl::MakeSpan(rounded));
    EXPECT_EQ(entries->values, rounded) << expected.name;
  }
}

TEST(FrameGoldenTest, ImpliedIsWrittenAndReadAsEver) {
  const std::string bytes = ReadGolden()["implied fp16"];
  std::string frame;
  ASSERT_TRUE(EncodeImplied({0.5f, -8.0f}, ValueType::kFp16, &frame).ok());
  EXPECT_EQ(absl::BytesToHexString(frame), absl::BytesToHexString(bytes));
  std::vector<float> values(2);
  ASSERT_TRUE(DecodeImplied(bytes, absl::MakeSpan(values)).ok());
  EXPECT_EQ(values, (std::vector<float>{0.5f, -8.0f}));
}

TEST(FrameGoldenTest, RowsOfInt8AreWrittenAndReadAsEver) {
  const std::string bytes = ReadGolden()["rows int8"];
  std::string frame;
  ASSERT_TRUE(EncodeDense({1.0f, -0.5f, 0.001f, 0.002f}, ValueType::kInt8, &frame, 2).ok());
  EXPECT_EQ(absl::BytesToHexString(frame), absl::BytesToHexString(bytes));
  std::vector<float> values(4);
  ASSERT_TRUE(DecodeInto(bytes, absl::MakeSpan(values)).ok());
  EXPECT_EQ(values, (std::vector<float>{1.0f, -0.5f, 33 * 0x1p-15f, 66 * 0x1p-15f}));
}

TEST(FrameGoldenTest, PackedFramesAreWrittenAndReadAsEver) {
  std::map<std::string, std::string> golden = ReadGolden();
  std::vector<float> dense(40, 1.0f);
  dense.resize(56, -2.0f);
  dense.resize(64, 3.0f);
  SparseEntries every25th = {{}, std::vector<float>(40, 0.5f)};
  for (uint32_t i = 24; i < 1000; i += 25) every25th.positions.push_back(i);
  std::string fp8, fp16, gaps;
  ASSERT_TRUE(EncodeDense(dense, ValueType::kFp8, &fp8).ok());
  ASSERT_TRUE(EncodeDense(std::vector<float>(48, 1.5f), ValueType::kFp16, &fp16).ok());
  ASSERT_TRUE(EncodeSparse(1000, every25th.positions, every25th.values, ValueType::kFp8, &gaps).ok());
  for (std::string* frame : {&fp8, &fp16, &gaps}) PackFrame(frame);
  EXPECT_EQ(absl::BytesToHexString(fp8), absl::BytesToHexString(golden["packed fp8"]));
  EXPECT_EQ(absl::BytesToHexString(fp16), absl::BytesToHexString(golden["packed fp16"]));
  EXPECT_EQ(absl::BytesToHexString(gaps), absl::BytesToHexString(golden["packed gaps fp8"]));
  std::vector<float> read(64);
  ASSERT_TRUE(DecodeInto(golden["packed fp8"], absl::MakeSpan(read)).ok());
  EXPECT_EQ(read, dense);
  EXPECT_EQ(DecodeSparse(golden["packed gaps fp8"], 1000)->positions, every25th.positions);
}

TEST(FrameGoldenTest, BoundedRowsAreWrittenAndReadAsEver) {
  std::map<std::string, std::string> golden = ReadGolden();
  const std::vector<float> values = {-1.0f, 0.0f, 1.0f, 0.5f, 1.0f, 0.5f, 1.0f, 0.5f, -1.0f, 0.25f};
  struct Case {
    const char* name;
    double bound;
    CodeEncoding encoding;
  };
  for (const Case& of : {Case{"steps8", 0.1, CodeEncoding::kCodes}, Case{"steps8 repeats", 0.1, CodeEncoding::kRepeats},
                         Case{"steps16", 0.001, CodeEncoding::kCodes}}) {
    BoundedRows rows;
    std::string frame;
    ASSERT_TRUE(rows.Round(values, 2, of.bound).ok());
    ASSERT_TRUE(rows.Encode(of.encoding, &frame).ok());
    EXPECT_EQ(absl::BytesToHexString(frame), absl::BytesToHexString(golden[of.name])) << of.name;
    std::vector<float> read(10);
    ASSERT_TRUE(DecodeInto(golden[of.name], absl::MakeSpan(read)).ok());
    for (size_t i = 0; i < read.size(); ++i) EXPECT_NEAR(read[i], values[i], 2 * of.bound) << of.name;
  }
}

TEST(FrameGoldenTest, KeysAreWrittenAndReadAsEver) {
  std::map<std::string, std::string> golden = ReadGolden();
  const std::vector<Key> keys = {3, 4, 132, 0x8000000000000000};
  std::string sorted, raw;
  EncodeKeysSorted(keys, &sorted);
  EncodeKeysRaw(keys, &raw);
  EXPECT_EQ(absl::BytesToHexString(sorted), absl::BytesToHexString(golden["keys sorted"]));
  EXPECT_EQ(absl::BytesToHexString(raw), absl::BytesToHexString(golden["keys raw"]));
  EXPECT_EQ(*DecodeKeysSorted(golden["keys sorted"], 4), keys);
  EXPECT_EQ(*DecodeKeysRaw(golden["keys raw"], 4), keys);
}

// The worked example of the paper is one of the golden frames, byte for byte.
TEST(FrameGoldenTest, FormatPaperShowsAGoldenFrame) {
  std::stringstream paper;
  paper << std::ifstream("compression/FORMAT.md").rdbuf();
  std::ifstream file("tests/golden/frames.golden");
  std::string example;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("gaps fp16: ", 0) == 0) example = line.substr(line.find(':') + 2);
  }
  ASSERT_NE(example, "");
  EXPECT_NE(paper.str().find(example), std::string::npos) << "compression/FORMAT.md lacks the line " << example;
}

}  // namespace
}  // namespace weir::compression
