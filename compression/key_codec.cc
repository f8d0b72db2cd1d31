#include "compression/key_codec.h"

#include <algorithm>
#include <cstring>

#include "absl/numeric/bits.h"
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
    end_ = WriteVarintFast(value, end_);
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

// Bits in the order in which they come, the first in the lowest place of the first byte.
class BitWriter {
 public:
  explicit BitWriter(std::string* out) : out_(out) {}
  ~BitWriter() {
    if (count_ > 0) out_->push_back(static_cast<char>(word_));
  }

  // REQUIRES: bits <= 32.
  void Write(uint64_t value, unsigned bits) {
    word_ |= (value & ((uint64_t{1} << bits) - 1)) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, word_ >>= 8) out_->push_back(static_cast<char>(word_));
  }
  void WriteWide(uint64_t value, unsigned bits) {
    if (bits > 32) Write(value, 32), value >>= 32, bits -= 32;
    Write(value, bits);
  }

 private:
  std::string* const out_;
  uint64_t word_ = 0;
  unsigned count_ = 0;  // below 8 between writes
};

class BitReader {
 public:
  explicit BitReader(absl::string_view bytes) : bytes_(bytes) {}

  // False: there are not that many. REQUIRES: bits <= 32.
  bool Read(unsigned bits, uint64_t* value) {
    for (; count_ < bits; count_ += 8) {
      if (at_ == bytes_.size()) return false;
      word_ |= uint64_t{static_cast<uint8_t>(bytes_[at_++])} << count_;
    }
    *value = word_ & ((uint64_t{1} << bits) - 1);
    word_ >>= bits;
    count_ -= bits;
    return true;
  }
  bool ReadWide(unsigned bits, uint64_t* value) {
    uint64_t low = 0, high = 0;
    const unsigned low_bits = bits > 32 ? 32 : bits;
    if (!Read(low_bits, &low) || !Read(bits - low_bits, &high)) return false;
    *value = low | high << 32;
    return true;
  }
  // All bits were read but those that fill up the last byte, which are 0.
  bool AtEnd() const { return at_ == bytes_.size() && word_ == 0; }

 private:
  const absl::string_view bytes_;
  size_t at_ = 0;
  uint64_t word_ = 0;
  unsigned count_ = 0;
};

// How many bits of a number a Rice code writes as they are: the logarithm of the mean, which follows the last numbers.
class RiceParameter {
 public:
  explicit RiceParameter(uint64_t mean) : sum_(std::min(mean, kLargest) * kMemory) {}

  unsigned bits() const {
    const uint64_t mean = sum_ / kMemory;
    return mean < 2 ? 0 : static_cast<unsigned>(absl::bit_width(mean)) - 1;
  }
  void Follow(uint64_t number) { sum_ += std::min(number, kLargest) - sum_ / kMemory; }

 private:
  static constexpr uint64_t kMemory = 16;
  static constexpr uint64_t kLargest = uint64_t{1} << 59;  // so that the sum fits
  uint64_t sum_;                                           // of about the last kMemory numbers
};

// More ones in a row announce the number itself.
constexpr unsigned kUnaryMax = 16;

bool ReadRice(unsigned parameter, BitReader* bits, uint64_t* number) {
  uint64_t quotient = 0, bit = 1;
  while (quotient < kUnaryMax) {
    if (!bits->Read(1, &bit)) return false;
    if (bit == 0) break;
    ++quotient;
  }
  if (quotient == kUnaryMax) return bits->ReadWide(64, number) && *number >> parameter >= kUnaryMax;
  uint64_t low = 0;
  if (!bits->ReadWide(parameter, &low)) return false;
  if (quotient > UINT64_MAX >> parameter) return false;
  *number = quotient << parameter | low;
  return true;
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

void EncodeKeysRice(absl::Span<const Key> keys, std::string* out) {
  if (keys.empty()) return;
  const uint64_t mean = keys.back() / keys.size();
  const auto mean_bits = static_cast<unsigned>(absl::bit_width(mean));
  out->push_back(static_cast<char>(mean_bits));
  RiceParameter parameter(mean_bits == 0 ? 0 : uint64_t{1} << (mean_bits - 1));
  BitWriter bits(out);
  Key next = 0;  // the least that can come
  for (const Key key : keys) {
    const uint64_t gap = key - next;
    const unsigned low_bits = parameter.bits();
    const uint64_t quotient = gap >> low_bits;
    if (quotient < kUnaryMax) {
      bits.Write((uint64_t{1} << quotient) - 1, static_cast<unsigned>(quotient) + 1);
      bits.WriteWide(gap, low_bits);
    } else {
      bits.Write((uint64_t{1} << kUnaryMax) - 1, kUnaryMax);
      bits.WriteWide(gap, 64);
    }
    parameter.Follow(gap);
    next = key + 1;
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

absl::StatusOr<std::vector<Key>> DecodeKeysRice(absl::string_view bytes, uint32_t count) {
  if (count == 0 && bytes.empty()) return std::vector<Key>();
  // A key takes a bit at least, behind the byte in front.
  if (bytes.empty() || count == 0 || (count + 7) / 8 > bytes.size() - 1)
    return Malformed("Rice codes of another number", count, bytes.size());
  if (count > kKeysPerTableCallMax) return Malformed(absl::StrCat("at most ", kKeysPerTableCallMax, " keys"), count, bytes.size());
  const auto mean_bits = static_cast<uint8_t>(bytes[0]);
  if (mean_bits > 64) return Malformed("its mean is beyond 64 bits", count, bytes.size());
  RiceParameter parameter(mean_bits == 0 ? 0 : uint64_t{1} << (mean_bits - 1));
  BitReader bits(bytes.substr(1));
  std::vector<Key> keys(count);
  Key next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t gap = 0;
    if (!ReadRice(parameter.bits(), &bits, &gap)) return Malformed("a key is cut off or not in its shortest form", count, bytes.size());
    keys[i] = next + gap;
    if (keys[i] < next || (next == 0 && i != 0)) return Malformed("keys must increase and stay below 2^64", count, bytes.size());
    parameter.Follow(gap);
    next = keys[i] + 1;
  }
  if (!bits.AtEnd()) return Malformed("bits are left after the last key", count, bytes.size());
  if (static_cast<unsigned>(absl::bit_width(keys.back() / count)) != mean_bits)
    return Malformed("its mean is another", count, bytes.size());
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
