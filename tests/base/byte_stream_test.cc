#include "base/byte_stream.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir {
namespace {

using testing::PackXz;
using testing::WriteDataFile;
using testing::WriteFile;

// Reads in pieces of `size` bytes.
absl::StatusOr<std::string> ReadAll(ByteStream* stream, size_t size) {
  std::string content, piece(size, '\0');
  for (;;) {
    const absl::StatusOr<size_t> count = stream->Read(piece.data(), size);
    if (!count.ok()) return count.status();
    if (*count == 0) return content;
    content += piece.substr(0, *count);
  }
}

TEST(ByteStreamTest, GivesTheSameBytesInPiecesOfAnySize) {
  std::string content;
  for (int i = 0; i < 20000; ++i) content += static_cast<char>(i * i % 251);
  for (const char* name : {"a", "a.gz", "a.xz", "a.zst"}) {
    const std::string path = WriteDataFile(name, content);
    for (const size_t size : {1, 7, 4096, 1 << 20}) {
      auto stream = ByteStream::Open(path).value();
      EXPECT_EQ(ReadAll(stream.get(), size).value(), content) << name << " by " << size;
      ASSERT_EQ(stream->Seek(19990), absl::OkStatus());
      EXPECT_EQ(ReadAll(stream.get(), size).value(), content.substr(19990)) << name;
      ASSERT_EQ(stream->Seek(3), absl::OkStatus());
      EXPECT_EQ(ReadAll(stream.get(), size).value(), content.substr(3)) << name;
    }
  }
}

TEST(ByteStreamTest, XzStreamsMayBePadded) {
  const std::string padding(8, '\0');
  auto stream = ByteStream::Open(WriteFile("a.xz", PackXz("one") + padding + PackXz("two") + padding)).value();
  EXPECT_EQ(ReadAll(stream.get(), 100).value(), "onetwo");
}

TEST(ByteStreamTest, BytesBehindTheStreamAreAnError) {
  for (const char* name : {"a.gz", "a.xz", "a.zst"}) {
    auto stream = ByteStream::Open(WriteFile(name, testing::PackFor(name, "one") + "what is this")).value();
    EXPECT_EQ(ReadAll(stream.get(), 100).status().code(), absl::StatusCode::kDataLoss) << name;
  }
}

}  // namespace
}  // namespace weir
