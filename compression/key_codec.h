// Keys on the wire (compression/FORMAT.md): raw, or sorted, their differences as varints or Rice codes. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_KEY_CODEC_H_
#define WEIR_COMPRESSION_KEY_CODEC_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/key.h"

namespace weir::compression {

// Appends 8 little-endian bytes a key.
void EncodeKeysRaw(absl::Span<const Key> keys, std::string* out);
// Appends the first key and each difference as varints. REQUIRES: strictly increasing.
void EncodeKeysSorted(absl::Span<const Key> keys, std::string* out);

// Appends the differences as Rice codes (R. F. Rice, "Some practical universal noiseless coding techniques", 1979) whose parameter follows
// them: a key takes about two bits more than the logarithm of its distance to the one before. REQUIRES: strictly increasing.
void EncodeKeysRice(absl::Span<const Key> keys, std::string* out);

// Exactly `count` keys, which must take the whole string. INVALID_ARGUMENT otherwise, before memory for `count` is taken.
absl::StatusOr<std::vector<Key>> DecodeKeysRaw(absl::string_view bytes, uint32_t count);
// The same; also refuses keys that do not increase or pass 2^64.
absl::StatusOr<std::vector<Key>> DecodeKeysSorted(absl::string_view bytes, uint32_t count);
absl::StatusOr<std::vector<Key>> DecodeKeysRice(absl::string_view bytes, uint32_t count);

// Appends unsigned varints (7 bits a byte, low first).
void EncodeVarints(absl::Span<const uint32_t> numbers, std::string* out);
// Exactly `count` numbers below 2^32, which must take the whole string.
absl::StatusOr<std::vector<uint32_t>> DecodeVarints(absl::string_view bytes, uint32_t count);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_KEY_CODEC_H_
