// Decoders of keys and varints. The first byte chooses the count of numbers, relative to what the bytes suggest. What is accepted encodes
// to the same bytes again: there is one form.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "compression/key_codec.h"

namespace weir::compression {
namespace {

void Demand(bool holds) {
  if (!holds) abort();
}

void CheckSorted(absl::string_view bytes, uint32_t count) {
  const auto keys = DecodeKeysSorted(bytes, count);
  if (!keys.ok()) return;
  Demand(keys->size() == count && std::adjacent_find(keys->begin(), keys->end(), std::greater_equal<>()) == keys->end());
  std::string again;
  EncodeKeysSorted(*keys, &again);
  Demand(again == bytes);
}

void CheckRice(absl::string_view bytes, uint32_t count) {
  const auto keys = DecodeKeysRice(bytes, count);
  if (!keys.ok()) return;
  Demand(keys->size() == count && std::adjacent_find(keys->begin(), keys->end(), std::greater_equal<>()) == keys->end());
  std::string again;
  EncodeKeysRice(*keys, &again);
  Demand(again == bytes);
}

void CheckRaw(absl::string_view bytes, uint32_t count) {
  const auto keys = DecodeKeysRaw(bytes, count);
  Demand(keys.ok() == (bytes.size() == uint64_t{count} * 8));
  if (!keys.ok()) return;
  std::string again;
  EncodeKeysRaw(*keys, &again);
  Demand(again == bytes);
}

void CheckVarints(absl::string_view bytes, uint32_t count) {
  const auto numbers = DecodeVarints(bytes, count);
  if (!numbers.ok()) return;
  std::string again;
  EncodeVarints(*numbers, &again);
  Demand(numbers->size() == count && again == bytes);
}

}  // namespace
}  // namespace weir::compression

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const uint32_t ends = static_cast<uint32_t>(std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0x80) == 0; }));
  for (const uint32_t count : {ends, ends + data[0] - 128u, static_cast<uint32_t>(bytes.size() / 8), uint32_t{data[0]} << 24}) {
    weir::compression::CheckSorted(bytes, count);
    weir::compression::CheckRice(bytes, count);
    weir::compression::CheckRaw(bytes, count);
    weir::compression::CheckVarints(bytes, count);
  }
  return 0;
}
