// Arrays as other programs read them: .npy (NumPy's format, version 1.0) and safetensors (a JSON head of names, types, shapes and offsets,
// then the data).
#ifndef WEIR_TOOLS_CHECKPOINT_ARRAY_FILES_H_
#define WEIR_TOOLS_CHECKPOINT_ARRAY_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weir::tools {

enum class ArrayType { kFloat32, kUint64 };

// Row by row, little-endian. The bytes outlive it.
struct Array {
  std::string name;
  ArrayType type = ArrayType::kFloat32;
  std::vector<uint64_t> shape;
  absl::string_view bytes;
};

// What stands before the bytes of an array in its .npy file.
std::string NpyHead(const Array& array);
// What stands before the bytes of all arrays, in this order, in a safetensors file.
std::string SafetensorsHead(absl::Span<const Array> arrays);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_CHECKPOINT_ARRAY_FILES_H_
