#include "tools/checkpoint/array_files.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

namespace weir::tools {
namespace {

// Heads end so that the data is aligned.
constexpr size_t kAlignment = 64;

std::string LittleEndian(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> 8 * i));
  return out;
}

}  // namespace

std::string NpyHead(const Array& array) {
  const char* const type = array.type == ArrayType::kFloat32 ? "<f4" : "<u8";
  // A tuple of one needs its comma.
  const std::string shape = absl::StrCat(absl::StrJoin(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  std::string head = absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kBeforeHead = 10;
  head.append(kAlignment - (kBeforeHead + head.size() + 1) % kAlignment, ' ');
  head.push_back('\n');
  return absl::StrCat("\x93NUMPY\x01", std::string(1, '\0'), LittleEndian(head.size(), 2), head);
}

std::string SafetensorsHead(absl::Span<const Array> arrays) {
  nlohmann::ordered_json head;
  uint64_t offset = 0;
  for (const Array& array : arrays) {
    head[array.name] = {{"dtype", array.type == ArrayType::kFloat32 ? "F32" : "U64"},
                        {"shape", array.shape},
                        {"data_offsets", {offset, offset + array.bytes.size()}}};
    offset += array.bytes.size();
  }
  std::string text = head.dump();
  text.append((kAlignment - (8 + text.size()) % kAlignment) % kAlignment, ' ');
  return absl::StrCat(LittleEndian(text.size(), 8), text);
}

}  // namespace weir::tools
