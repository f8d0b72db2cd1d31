// CRC-32C (Castagnoli), as TFRecord files carry it.
#ifndef WEIR_SERVER_COORDINATOR_CRC32C_H_
#define WEIR_SERVER_COORDINATOR_CRC32C_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace weir::server {
namespace crc32c_internal {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

inline constexpr std::array<uint32_t, 256> kTable = MakeTable();

}  // namespace crc32c_internal

// A byte at a time: for a few hundred bytes a second.
constexpr uint32_t Crc32c(absl::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ crc32c_internal::kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

// TFRecord's: a checksum that may itself be checksummed.
constexpr uint32_t MaskedCrc32c(absl::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_CRC32C_H_
