#include "base/input_file.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::WriteDataFile;
using testing::WriteFile;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// A line and where it starts.
struct Line {
  std::string text;
  uint64_t offset;
  uint64_t number;
  friend bool operator==(const Line& a, const Line& b) { return a.text == b.text && a.offset == b.offset && a.number == b.number; }
};

// Reads to the end or the first error.
absl::Status ReadAll(LineReader* reader, std::vector<Line>* lines) {
  for (;;) {
    Line line = {"", reader->byte_offset(), reader->line_number()};
    absl::string_view text;
    const absl::StatusOr<bool> any = reader->Next(&text);
    if (!any.ok()) return any.status();
    if (!*any) return absl::OkStatus();
    line.text = std::string(text);
    lines->push_back(line);
  }
}

std::vector<std::string> TextsOf(const std::string& path) {
  auto reader = LineReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<Line> lines;
  EXPECT_EQ(ReadAll(reader->get(), &lines), absl::OkStatus());
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(line.text);
  return texts;
}

// What a reader must give, by the plainest means.
std::vector<Line> ReferenceLines(const std::string& content) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < content.size();) {
    const size_t newline = content.find('\n', begin);
    const size_t end = newline == std::string::npos ? content.size() : newline;
    std::string text = content.substr(begin, end - begin);
    if (newline != std::string::npos && absl::EndsWith(text, "\r")) text.pop_back();
    lines.push_back({text, begin, lines.size() + 1});
    begin = end + 1;
  }
  return lines;
}

// Lines of all lengths up to beyond the reader's buffer.
std::string RandomContent(int seed, int lines) {
  std::mt19937 random(seed);
  std::string content;
  for (int i = 0; i < lines; ++i) {
    const size_t length = random() % 50 == 0 ? random() % 300000 : random() % 300;
    for (size_t j = 0; j < length; ++j) content += static_cast<char>('a' + (i + j / 5) % 26);  // packs fast
    content += random() % 4 == 0 ? "\r\n" : "\n";
  }
  if (seed % 2 == 0) content += "no end";
  return content;
}

class InputFileTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Name() const { return "data.tsv" + GetParam(); }
  bool packed() const { return !GetParam().empty(); }
};

TEST_P(InputFileTest, LinesWithEveryKindOfEnd) {
  EXPECT_THAT(TextsOf(WriteDataFile(Name(), "a\tb\n\nc\r\n\r\nlast")), ElementsAre("a\tb", "", "c", "", "last"));
  EXPECT_THAT(TextsOf(WriteDataFile(Name(), "one\n")), ElementsAre("one"));
  EXPECT_THAT(TextsOf(WriteDataFile(Name(), "\n")), ElementsAre(""));
  EXPECT_THAT(TextsOf(WriteDataFile(Name(), "")), ElementsAre());
  EXPECT_THAT(TextsOf(WriteDataFile(Name(), "carriage\rreturn\r")), ElementsAre("carriage\rreturn\r"));
}

TEST_P(InputFileTest, RandomContentGivesTheReferenceLines) {
  for (int seed = 0; seed < 3; ++seed) {
    const std::string content = RandomContent(seed, 300);
    auto reader = LineReader::Open(WriteDataFile(Name(), content)).value();
    std::vector<Line> lines;
    ASSERT_EQ(ReadAll(reader.get(), &lines), absl::OkStatus());
    EXPECT_TRUE(lines == ReferenceLines(content)) << "seed " << seed;
  }
}

TEST_P(InputFileTest, SeeksForwardAndBack) {
  const std::string content = RandomContent(7, 300);
  const std::vector<Line> lines = ReferenceLines(content);
  auto reader = LineReader::Open(WriteDataFile(Name(), content)).value();
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    size_t at = random() % lines.size();
    ASSERT_EQ(reader->Seek(lines[at].offset, lines[at].number), absl::OkStatus());
    for (const size_t end = std::min(lines.size(), at + random() % 20); at < end; ++at) {
      EXPECT_EQ(reader->byte_offset(), lines[at].offset);
      EXPECT_EQ(reader->line_number(), lines[at].number);
      absl::string_view text;
      ASSERT_TRUE(reader->Next(&text).value());
      ASSERT_EQ(text, lines[at].text);
    }
  }
}

TEST_P(InputFileTest, SeekPastTheEndIsRefused) {
  const std::string path = WriteDataFile(Name(), "ab\n");
  auto reader = LineReader::Open(path).value();
  const absl::Status status = reader->Seek(4, 2);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(status), HasSubstr(path));
  absl::string_view line;
  EXPECT_EQ(reader->Next(&line).status().code(), absl::StatusCode::kOutOfRange) << "no line after a seek that failed";
  ASSERT_EQ(reader->Seek(3, 2), absl::OkStatus()) << "the end itself is a place";
  EXPECT_FALSE(reader->Next(&line).value());
}

TEST_P(InputFileTest, MissingFileIsNamed) {
  const absl::Status status = LineReader::Open("/no/such/" + Name()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("/no/such/" + Name()));
}

TEST_P(InputFileTest, LineOfTheGreatestLengthAndOneMore) {
  const std::string longest(kLineBytesMax, 'x');
  EXPECT_THAT(TextsOf(WriteDataFile(Name(), longest + "\n" + longest)), ElementsAre(longest, longest));
  for (const char* end : {"", "\n"}) {
    const std::string path = WriteDataFile(Name(), "short\n" + longest + "x" + end);
    auto reader = LineReader::Open(path).value();
    std::vector<Line> lines;
    const absl::Status status = ReadAll(reader.get(), &lines);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(Message(status), HasSubstr(path + ", line 2: "));
    EXPECT_EQ(lines.size(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, InputFileTest, ::testing::Values("", ".gz", ".xz", ".zst"),
                         [](const auto& info) { return info.param.empty() ? "plain" : info.param.substr(1); });

class PackedFileTest : public InputFileTest {};

TEST_P(PackedFileTest, PartsOneAfterAnotherAreOneFile) {
  const std::string bytes = testing::PackFor(Name(), "a\nb") + testing::PackFor(Name(), "") + testing::PackFor(Name(), "c\nd\n");
  EXPECT_THAT(TextsOf(WriteFile(Name(), bytes)), ElementsAre("a", "bc", "d"));
}

TEST_P(PackedFileTest, CutOffAnywhereIsAnErrorBehindTheWholeLines) {
  std::string content;
  for (uint32_t i = 0; i < 3000; ++i) absl::StrAppend(&content, "row ", i * i * 7919 % 100003, "\n");
  const std::vector<Line> whole = ReferenceLines(content);
  const std::string bytes = testing::PackFor(Name(), content);
  for (size_t size = 0; size < bytes.size(); size += size < 40 || size + 40 > bytes.size() ? 1 : 97) {
    const std::string path = WriteFile(Name(), bytes.substr(0, size));
    auto reader = LineReader::Open(path).value();
    std::vector<Line> lines;
    const absl::Status status = ReadAll(reader.get(), &lines);
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size << " of " << bytes.size() << " bytes";
    EXPECT_THAT(Message(status), HasSubstr(absl::StrCat(path, ", line ", lines.size() + 1, ": ")));
    EXPECT_THAT(Message(status), HasSubstr("ends early"));
    ASSERT_LE(lines.size(), whole.size());
    EXPECT_TRUE(std::equal(lines.begin(), lines.end(), whole.begin()));
    absl::string_view again;
    EXPECT_EQ(reader->Next(&again).status(), status);
  }
}

TEST_P(PackedFileTest, DamageIsAnErrorNamingFileAndLine) {
  const std::string content = RandomContent(3, 400);
  std::string bytes = testing::PackFor(Name(), content);
  bytes[bytes.size() / 2] ^= 0x55;
  const std::string path = WriteFile(Name(), bytes);
  auto reader = LineReader::Open(path).value();
  std::vector<Line> lines;
  const absl::Status status = ReadAll(reader.get(), &lines);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(Message(status), HasSubstr(absl::StrCat(path, ", line ", lines.size() + 1, ": ")));
  EXPECT_THAT(Message(status), HasSubstr("corrupt"));
  // What came before can still be read.
  ASSERT_EQ(reader->Seek(0, 1), absl::OkStatus());
  absl::string_view first;
  if (!lines.empty()) {
    ASSERT_TRUE(reader->Next(&first).value());
    EXPECT_EQ(first, lines[0].text);
  }
}

TEST_P(PackedFileTest, PlainTextUnderThisNameIsRefused) {
  const std::string path = WriteFile(Name(), "0\t1\t2\n");
  std::vector<Line> lines;
  const absl::Status status = ReadAll(LineReader::Open(path).value().get(), &lines);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr(path + ", line 1: "));
}

INSTANTIATE_TEST_SUITE_P(Formats, PackedFileTest, ::testing::Values(".gz", ".xz", ".zst"),
                         [](const auto& info) { return info.param.substr(1); });

TEST(PlainFileTest, FolderIsRefused) {
  const absl::Status status = LineReader::Open(::testing::TempDir()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("not a regular file"));
}

TEST(CountRowsTest, CountsTheLinesOfAllFiles) {
  const std::string one = WriteDataFile("one.tsv", "a\nb\n"), two = WriteDataFile("two.tsv.gz", "c\nd\ne");
  const auto rows = CountRows({one, two});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, 5u);
  EXPECT_THAT(Message(CountRows({one, "/no/such/file"}).status()), HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace weir
