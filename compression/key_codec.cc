#include "compression/key_codec.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "compression/varint.h"

namespace weir::compression {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys go to the wire as they lie in memory");

// Gathers varints in the first-level cache and appends them in pieces.
class VarintWriter {
 public:
  explicit VarintWriter(std::string* out) : out_(out) {}
  ~VarintWriter() { Flush(); }

  void Write(uint64_t value) {
    if (end_ > buffer_ + sizeof(buffer_) - kVarintBytesMax) Flush();
    end_ = WriteVarint(value, end_);
  }

 private:
  void Flush() {
    out_->append(reinterpret_cast<const char*>(buffer_), end_ - buffer_);
    end_ = buffer_;
  }

  std::string* const out_;
  uint8_t buffer_[4096];
  uint8_t* end_ = buffer_;
};

absl::Status Malformed(absl::string_view what, uint32_t count, size_t bytes) {
  return absl::InvalidArgumentError(absl::StrCat(what, " (", count, " numbers in ", bytes, " bytes)"));
}

absl::Status CheckCount(absl::string_view bytes, uint32_t count) {
  if (count > bytes.size() || bytes.size() / kVarintBytesMax > count) return Malformed("varints of another number", count, bytes.size());
  return absl::OkStatus();
}

}  // namespace

void EncodeKeysRaw(absl::Span<const Key> keys, std::string* out) {
  out->append(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(Key));
}

void EncodeKeysSorted(absl::Span<const Key> keys, std::string* out) {
  VarintWriter writer(out);
  Key last = 0;
  for (const Key key : keys) {
    writer.Write(key - last);
    last = key;
  }
}

absl::StatusOr<std::vector<Key>> DecodeKeysRaw(absl::string_view bytes, uint32_t count) {
  if (bytes.size() != size_t{count} * sizeof(Key)) return Malformed("raw keys take 8 bytes each", count, bytes.size());
  if (count > kKeysPerTableCallMax) return Malformed(absl::StrCat("at most ", kKeysPerTableCallMax, " keys"), count, bytes.size());
  std::vector<Key> keys(count);
  if (count != 0) std::memcpy(keys.data(), bytes.data(), bytes.size());
  return keys;
}

absl::StatusOr<std::vector<Key>> DecodeKeysSorted(absl::string_view bytes, uint32_t count) {
  if (absl::Status status = CheckCount(bytes, count); !status.ok()) return status;
  if (count > kKeysPerTableCallMax) return Malformed(absl::StrCat("at most ", kKeysPerTableCallMax, " keys"), count, bytes.size());
  const uint8_t* at = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* end = at + bytes.size();
  std::vector<Key> keys(count);
  Key last = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t difference = 0;
    at = ReadVarint(at, end, &difference);
    if (at == nullptr) return Malformed("a key is cut off or not in its shortest form", count, bytes.size());
    const Key key = last + difference;
    if (key < last || (difference == 0 && i != 0)) return Malformed("keys must increase and stay below 2^64", count, bytes.size());
    keys[i] = last = key;
  }
  if (at != end) return Malformed("bytes are left after the last key", count, bytes.size());
  return keys;
}

void EncodeVarints(absl::Span<const uint32_t> numbers, std::string* out) {
  VarintWriter writer(out);
  for (const uint32_t number : numbers) writer.Write(number);
}

absl::StatusOr<std::vector<uint32_t>> DecodeVarints(absl::string_view bytes, uint32_t count) {
  if (absl::Status status = CheckCount(bytes, count); !status.ok()) return status;
  const uint8_t* at = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* end = at + bytes.size();
  std::vector<uint32_t> numbers(count);
  for (uint32_t& number : numbers) {
    uint64_t value = 0;
    at = ReadVarint(at, end, &value);
    if (at == nullptr) return Malformed("a number is cut off or not in its shortest form", count, bytes.size());
    if (value > UINT32_MAX) return Malformed("numbers must stay below 2^32", count, bytes.size());
    number = static_cast<uint32_t>(value);
  }
  if (at != end) return Malformed("bytes are left after the last number", count, bytes.size());
  return numbers;
}

}  // namespace weir::compression
