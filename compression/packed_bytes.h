// Bytes of few different values in fewer bytes: the entropy stage of frames and numbers. A section holds them packed by a canonical Huffman
// code of their own (D. A. Huffman, "A method for the construction of minimum-redundancy codes", 1952), or as they are where that is not
// longer. Format: compression/FORMAT.md. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_PACKED_BYTES_H_
#define WEIR_COMPRESSION_PACKED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weir::compression {

// Appends a section of `bytes`.
void AppendSection(absl::Span<const uint8_t> bytes, std::string* out);

// Reads the section at `at`, appends what it holds to `out`, and returns where it ends. INVALID_ARGUMENT, and `out` as it was: it is cut
// off by `end`, is none, or holds more than `size_max`. Memory is at most 8 times the section.
absl::StatusOr<const uint8_t*> ReadSection(const uint8_t* at, const uint8_t* end, size_t size_max, std::vector<uint8_t>* out);

// What one section, and nothing beside it, holds. Errors as ReadSection.
absl::StatusOr<std::string> ReadWholeSection(absl::string_view section, size_t size_max);

// Where the section at `at` ends; nullptr: `end` cuts it off. Reads its size alone.
const uint8_t* SkipSection(const uint8_t* at, const uint8_t* end);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_PACKED_BYTES_H_
