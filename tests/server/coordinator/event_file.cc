#include "tests/server/coordinator/event_file.h"

#include <cstring>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir::testing {
namespace {

// Bit by bit, from the definition of CRC-32C.
uint32_t ReferenceMaskedCrc(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

template <typename Integer>
Integer At(const std::string& bytes, size_t offset) {
  Integer value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

std::vector<tensorboard::Event> ReadEvents(const std::string& dir) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) files.push_back(entry.path().string());
  EXPECT_EQ(files.size(), 1u);
  if (files.size() != 1) return {};
  EXPECT_NE(files[0].find("tfevents"), std::string::npos);
  const std::string bytes = ReadWholeFile(files[0]);
  std::vector<tensorboard::Event> events;
  size_t offset = 0;
  while (offset < bytes.size()) {
    if (bytes.size() - offset < 16) {
      ADD_FAILURE() << "a record is cut short at byte " << offset;
      return events;
    }
    const auto length = At<uint64_t>(bytes, offset);
    EXPECT_EQ(At<uint32_t>(bytes, offset + 8), ReferenceMaskedCrc(bytes.substr(offset, 8)));
    if (length > bytes.size() - offset - 16) {
      ADD_FAILURE() << "a record is cut short at byte " << offset;
      return events;
    }
    const std::string payload = bytes.substr(offset + 12, length);
    EXPECT_EQ(At<uint32_t>(bytes, offset + 12 + length), ReferenceMaskedCrc(payload));
    EXPECT_TRUE(events.emplace_back().ParseFromString(payload));
    offset += 16 + length;
  }
  return events;
}

}  // namespace weir::testing
