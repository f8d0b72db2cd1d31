#include "base/state_file.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::string WriteTwo(const std::string& name, StateFileInfo* info) {
  std::string path = testing::WriteFile(name, "");
  const auto writer = StateFileWriter::Create(path);
  EXPECT_TRUE((*writer)->Add("a", "payload").ok());
  EXPECT_TRUE((*writer)->Add("b/c", "").ok());
  *info = *(*writer)->Finish();
  return path;
}

// Reads to the end; the first error.
absl::Status ReadAll(const std::string& path, std::string* all) {
  const auto reader = StateFileReader::Open(path);
  if (!reader.ok()) return reader.status();
  StateFileReader::Record record;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&record);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    *all += record.name + "=" + record.payload + ";";
  }
}

TEST(StateFileTest, GivesBackWhatWasWritten) {
  StateFileInfo info;
  const std::string path = WriteTwo("f", &info);
  std::string all;
  ASSERT_TRUE(ReadAll(path, &all).ok());
  EXPECT_EQ(all, "a=payload;b/c=;");
  const auto reader = StateFileReader::Open(path);
  StateFileReader::Record record;
  while (*(*reader)->Next(&record)) {
  }
  EXPECT_EQ((*reader)->info().bytes, info.bytes);
  EXPECT_EQ((*reader)->info().checksum, info.checksum);
  EXPECT_EQ(testing::ReadWholeFile(path).size(), info.bytes);
}

TEST(StateFileTest, InMemoryAreTheSameBytes) {
  StateFileInfo info;
  const std::string path = WriteTwo("f", &info);
  std::string memory;
  const auto writer = StateFileWriter::InMemory(&memory);
  ASSERT_TRUE(writer->Add("a", "payload").ok());
  ASSERT_TRUE(writer->Add("b/c", "").ok());
  EXPECT_EQ((*writer->Finish()).checksum, info.checksum);
  EXPECT_EQ(memory, testing::ReadWholeFile(path));
}

// Files of this version stay readable: these bytes never change.
TEST(StateFileTest, BytesAreGolden) {
  StateFileInfo info;
  const std::string path = WriteTwo("f", &info);
  EXPECT_EQ(absl::BytesToHexString(testing::ReadWholeFile(path)),
            "5745495253544131"  // WEIRSTA1
            "010000000700000000000000445f7b79277a11c9"
            "61"
            "7061796c6f6164"  // a
            "0300000000000000000000002da070742a32a132"
            "622f63"  // b/c
            "000000000800000000000000e140e3f73a7f9172"
            "0200000000000000");  // two records
}

TEST(StateFileTest, EveryCutIsSeen) {
  StateFileInfo info;
  const std::string bytes = testing::ReadWholeFile(WriteTwo("f", &info));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string path = testing::WriteFile("cut", bytes.substr(0, size));
    std::string all;
    const absl::Status status = ReadAll(path, &all);
    ASSERT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

TEST(StateFileTest, EveryFlippedBitIsSeen) {
  StateFileInfo info;
  const std::string bytes = testing::ReadWholeFile(WriteTwo("f", &info));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    std::string all;
    EXPECT_TRUE(absl::IsDataLoss(ReadAll(testing::WriteFile("flipped", flipped), &all))) << bit;
  }
}

TEST(StateFileTest, WhatFollowsTheEndIsSeen) {
  StateFileInfo info;
  const std::string bytes = testing::ReadWholeFile(WriteTwo("f", &info));
  std::string all;
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(testing::WriteFile("longer", bytes + "x"), &all)));
}

TEST(StateFileTest, AFullDiskIsReported) {
  const auto writer = StateFileWriter::Create("/dev/full");
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("/dev/full"));
}

TEST(StateFileTest, AMissingFileIsNotFound) { EXPECT_TRUE(absl::IsNotFound(StateFileReader::Open("/nowhere/f").status())); }

}  // namespace
}  // namespace weir
