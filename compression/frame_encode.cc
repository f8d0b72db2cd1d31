#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "compression/frame.h"
#include "compression/frame_layout.h"
#include "compression/half.h"
#include "compression/varint.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

constexpr size_t kChunk = 1024;                     // values converted at a time: they stay in the first-level cache
constexpr uint32_t kHalfOverflowBits = 0x477ff000;  // 65520: the first magnitude that rounds to infinity
static_assert(kChunk % kInt8Block == 0, "a chunk ends where a block ends");

// The first magnitude that a frame cannot carry.
uint32_t BeyondRangeBits(ValueType type) {
  switch (type) {
    case ValueType::kFp32:
      return kInfinityBits;
    case ValueType::kFp16:
      return kHalfOverflowBits;
    case ValueType::kBf16:
      return kBrainOverflowBits;
    case ValueType::kFp8:
      return kMinifloatOverflowBits;
    default:
      return kInt8LargestBits + 1;
  }
}

absl::string_view CarriedValues(ValueType type) {
  switch (type) {
    case ValueType::kFp32:
      return "only finite values can be sent";
    case ValueType::kFp16:
      return "fp16 carries finite values below 65520";
    case ValueType::kBf16:
      return "bf16 carries finite values below 3.39e38";
    case ValueType::kFp8:
      return "fp8 carries finite values below 57344";
    default:
      return "int8 carries finite values up to 3.37e38";
  }
}

absl::Status CheckValues(absl::Span<const float> values, ValueType type) {
  const uint32_t beyond = BeyondRangeBits(type);
  if (MaxMagnitudeBits(values) < beyond) return absl::OkStatus();
  size_t bad = 0;
  while ((BitsOfFloat(values[bad]) & 0x7fffffff) < beyond) ++bad;
  return absl::InvalidArgumentError(absl::StrCat("value ", bad, " of ", values.size(), " is ", values[bad], "; ", CarriedValues(type)));
}

absl::Status CheckSize(size_t size) {
  if (size <= kFrameEntriesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a frame of ", size, " entries; at most ", kFrameEntriesMax, " fit, split it"));
}

absl::Status CheckPositions(absl::Span<const uint32_t> positions, uint32_t size) {
  bool increasing = true;
  for (size_t i = 1; i < positions.size(); ++i) increasing &= positions[i - 1] < positions[i];
  if (increasing && (positions.empty() || positions.back() < size)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("positions of kept entries must increase and stay below ", size));
}

void AppendHeader(const FrameHeader& header, std::string* out) {
  uint8_t bytes[kFrameHeaderBytesMax];
  out->append(reinterpret_cast<const char*>(bytes), WriteFrameHeader(header, bytes) - bytes);
}

// REQUIRES: values begin where a block begins.
void AppendValues(absl::Span<const float> values, ValueType type, uint32_t block, std::string* out) {
  const size_t begin = out->size();
  out->resize(begin + ValuesBytes(type, values.size(), block));
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(out->data()) + begin;
  switch (type) {
    case ValueType::kFp32:
      if (!values.empty()) std::memcpy(bytes, values.data(), values.size() * sizeof(float));
      return;
    case ValueType::kFp16:
      return HalvesFromFloats(values, bytes);
    case ValueType::kBf16:
      return BrainsFromFloats(values, bytes);
    case ValueType::kInt8:
      return Int8FromFloats(values, block, bytes);
    case ValueType::kFp8:
      return MinifloatsFromFloats(values, bytes);
    case ValueType::kSteps8:
    case ValueType::kSteps16:
      return;  // of compression/bounded_rows.h
  }
}

void AppendChecksum(size_t frame_begin, std::string* out) {
  const uint32_t checksum = FrameChecksum(out->data() + frame_begin, out->size() - frame_begin);
  out->append(reinterpret_cast<const char*>(&checksum), kFrameChecksumBytes);
}

// A frame of all values, which are known to be good.
void AppendWhole(absl::Span<const float> values, MaskLayout layout, ValueType type, uint32_t block, std::string* out) {
  const size_t begin = out->size();
  const uint32_t size = static_cast<uint32_t>(values.size());
  out->reserve(begin + kFramePrefixBytes + 3 * kVarintBytesMax + ValuesBytes(type, size, block) + kFrameChecksumBytes);
  FrameHeader header;
  header.values = type;
  header.layout = layout;
  header.size = header.kept = size;
  header.block = block;
  AppendHeader(header, out);
  AppendValues(values, type, block, out);
  AppendChecksum(begin, out);
}

absl::Status EncodeWhole(absl::Span<const float> values, MaskLayout layout, ValueType type, uint32_t block, std::string* out) {
  if (absl::Status status = CheckSize(values.size()); !status.ok()) return status;
  if (absl::Status status = CheckValues(values, type); !status.ok()) return status;
  AppendWhole(values, layout, type, block, out);
  return absl::OkStatus();
}

size_t GapBytes(absl::Span<const uint32_t> positions) {
  static_assert(kFrameEntriesMax <= 1u << 28, "a gap takes at most four bytes");
  size_t bytes = positions.size();
  uint32_t next = 0;
  for (const uint32_t position : positions) {
    const uint32_t gap = position - next;
    bytes += (gap >= 1u << 7) + (gap >= 1u << 14) + (gap >= 1u << 21);
    next = position + 1;
  }
  return bytes;
}

// What every layout would take, by which one is chosen.
MaskLayout SmallestLayout(uint32_t size, absl::Span<const uint32_t> positions, ValueType type) {
  const size_t bitmap = BitmapBytes(size);
  // Each gap takes a byte at least, so there is no need to count them when that is too much.
  const size_t gaps = positions.size() < bitmap ? GapBytes(positions) : bitmap;
  const size_t sparse = std::min(bitmap, gaps) + VarintBytes(positions.size()) + ValuesBytes(type, positions.size(), kInt8Block);
  // Zeros between kept values would move them to other blocks of 8-bit values, whose scales round them once more.
  if (type != ValueType::kInt8 && VarintBytes(size) + ValuesBytes(type, size, kInt8Block) <= sparse) return MaskLayout::kDense;
  return bitmap <= gaps ? MaskLayout::kBitmap : MaskLayout::kGaps;
}

void AppendBitmap(uint32_t size, absl::Span<const uint32_t> positions, std::string* out) {
  const size_t begin = out->size();
  out->resize(begin + BitmapBytes(size));
  uint8_t* bits = reinterpret_cast<uint8_t*>(&(*out)[begin]);
  for (const uint32_t position : positions) bits[position / 8] |= 1u << position % 8;
}

void AppendGaps(absl::Span<const uint32_t> positions, std::string* out) {
  uint8_t buffer[kChunk * 4];
  uint32_t next = 0;
  for (size_t begin = 0; begin < positions.size(); begin += kChunk) {
    uint8_t* end = buffer;
    for (const uint32_t position : positions.subspan(begin, kChunk)) {
      end = WriteVarint(position - next, end);
      next = position + 1;
    }
    out->append(reinterpret_cast<const char*>(buffer), end - buffer);
  }
}

// All entries of a frame that is smaller without its mask, in chunks: the whole is never built.
void AppendScattered(uint32_t size, absl::Span<const uint32_t> positions, absl::Span<const float> values, ValueType type,
                     std::string* out) {
  size_t at = 0;
  for (uint32_t begin = 0; begin < size; begin += kChunk) {
    std::array<float, kChunk> chunk{};
    const uint32_t end = std::min<uint32_t>(size, begin + kChunk);
    for (; at < positions.size() && positions[at] < end; ++at) chunk[positions[at] - begin] = values[at];
    AppendValues(absl::MakeConstSpan(chunk.data(), end - begin), type, kInt8Block, out);
  }
}

}  // namespace

absl::Status EncodeDense(absl::Span<const float> values, ValueType type, std::string* out, uint32_t block) {
  return EncodeWhole(values, MaskLayout::kDense, type, block, out);
}

absl::Status EncodeImplied(absl::Span<const float> values, ValueType type, std::string* out) {
  return EncodeWhole(values, MaskLayout::kImplied, type, kInt8Block, out);
}

absl::Status EncodeSparse(uint32_t size, absl::Span<const uint32_t> positions, absl::Span<const float> values, ValueType type,
                          std::string* out) {
  if (absl::Status status = CheckSize(size); !status.ok()) return status;
  if (positions.size() != values.size()) {
    return absl::InvalidArgumentError(absl::StrCat(positions.size(), " positions but ", values.size(), " values"));
  }
  if (absl::Status status = CheckPositions(positions, size); !status.ok()) return status;
  if (absl::Status status = CheckValues(values, type); !status.ok()) return status;
  if (positions.size() == size) {
    AppendWhole(values, MaskLayout::kDense, type, kInt8Block, out);
    return absl::OkStatus();
  }
  const MaskLayout layout = SmallestLayout(size, positions, type);
  const size_t begin = out->size();
  FrameHeader header;
  header.values = type;
  header.layout = layout;
  header.size = size;
  header.kept = layout == MaskLayout::kDense ? size : static_cast<uint32_t>(positions.size());
  header.block = kInt8Block;
  AppendHeader(header, out);
  if (layout == MaskLayout::kDense) {
    AppendScattered(size, positions, values, type, out);
  } else {
    if (layout == MaskLayout::kBitmap) AppendBitmap(size, positions, out);
    if (layout == MaskLayout::kGaps) AppendGaps(positions, out);
    AppendValues(values, type, kInt8Block, out);
  }
  AppendChecksum(begin, out);
  return absl::OkStatus();
}

void EncodeSteps(const StepRows& rows, std::string* out) {
  const size_t begin = out->size();
  FrameHeader header;
  header.values = rows.type;
  header.layout = rows.repeats ? MaskLayout::kRepeats : MaskLayout::kDense;
  header.size = rows.rows * rows.width;
  header.kept = static_cast<uint32_t>(rows.codes.size() / ValuesBytes(rows.type, 1, 1));
  header.block = rows.width;
  header.step = rows.step;
  header.lowest = rows.lowest;
  AppendHeader(header, out);
  out->append(rows.mask.data(), rows.mask.size());
  out->append(reinterpret_cast<const char*>(rows.codes.data()), rows.codes.size());
  AppendChecksum(begin, out);
}

float LargestValue(ValueType type) {
  switch (type) {
    case ValueType::kFp32:
      return FloatOfBits(kInfinityBits - 1);
    case ValueType::kFp16:
      return kHalfMax;
    case ValueType::kBf16:
      return FloatOfBits(kBrainOverflowBits - 0x8000);
    case ValueType::kFp8:
      return kMinifloatMax;
    default:
      return FloatOfBits(kInt8LargestBits);
  }
}

void RoundValues(ValueType type, absl::Span<float> values) {
  if (type == ValueType::kFp32) return;
  uint8_t bytes[kChunk * 2];
  for (size_t begin = 0; begin < values.size(); begin += kChunk) {
    const absl::Span<float> chunk = values.subspan(begin, kChunk);
    if (type == ValueType::kFp16) {
      HalvesFromFloats(chunk, bytes);
      FloatsFromHalves(bytes, chunk);
    } else if (type == ValueType::kBf16) {
      BrainsFromFloats(chunk, bytes);
      FloatsFromBrains(bytes, chunk);
    } else if (type == ValueType::kFp8) {
      MinifloatsFromFloats(chunk, bytes);
      FloatsFromMinifloats(bytes, chunk);
    } else {
      Int8FromFloats(chunk, kInt8Block, bytes);
      FloatsFromInt8(bytes, kInt8Block, 0, chunk);
    }
  }
}

}  // namespace weir::compression
