#include "compression/frame_parse.h"

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/frame_layout.h"
#include "compression/half.h"
#include "compression/packed_bytes.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

absl::Status Malformed(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("malformed frame: ", what)); }

absl::Status CheckPrefix(absl::string_view frame) {
  if (frame.size() < kFramePrefixBytes + 2 + kFrameChecksumBytes) return Malformed(absl::StrCat(frame.size(), " bytes are too few"));
  if (static_cast<uint8_t>(frame[0]) != kFrameMagic) return Malformed("it does not begin with the magic byte");
  if (static_cast<uint8_t>(frame[1]) != kFrameVersion) {
    return Malformed(absl::StrCat("version ", static_cast<uint8_t>(frame[1]), ", this process reads ", kFrameVersion));
  }
  return absl::OkStatus();
}

absl::Status CheckChecksum(absl::string_view frame) {
  uint32_t checksum;
  const size_t covered = frame.size() - kFrameChecksumBytes;
  std::memcpy(&checksum, frame.data() + covered, kFrameChecksumBytes);
  if (checksum == FrameChecksum(frame.data(), covered)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("checksum of a frame of ", frame.size(), " bytes does not match: it was damaged on its way"));
}

// Exact number of mask bytes, given those that the frame leaves for it.
absl::Status CheckMaskBytes(const FrameHeader& header, size_t mask_bytes) {
  switch (header.layout) {
    case MaskLayout::kDense:
    case MaskLayout::kImplied:
      if (header.kept != header.size) return Malformed("entries are missing from a layout without mask");
      if (mask_bytes != 0) return Malformed("its length is not that of its values");
      return absl::OkStatus();
    case MaskLayout::kBitmap:
      if (mask_bytes != BitmapBytes(header.size)) return Malformed("its length is not that of its bitmap and values");
      return absl::OkStatus();
    case MaskLayout::kGaps:
      if (mask_bytes < header.kept) return Malformed("its length is not that of its gaps and values");
      return absl::OkStatus();
    case MaskLayout::kRepeats:
      return absl::OkStatus();
  }
  return Malformed(absl::StrCat("unknown layout ", static_cast<int>(header.layout)));
}

absl::Status CheckScales(const Frame& frame, size_t value_bytes) {
  if (frame.header.values != ValueType::kInt8) return absl::OkStatus();
  for (size_t at = 0; at < value_bytes; at += size_t{frame.header.block} + 1) {
    if (frame.values[at] > kInt8ScaleMax) return Malformed(absl::StrCat("a scale of ", frame.values[at], ", at most ", kInt8ScaleMax));
  }
  return absl::OkStatus();
}

// What kInt8 and steps have more in their headers. Null: cut off or not in its shortest form.
const uint8_t* ReadScale(const uint8_t* at, const uint8_t* end, FrameHeader* header) {
  uint64_t block = 0, lowest = 0;
  at = ReadVarint(at, end, &block);
  if (at == nullptr || block > kFrameEntriesMax) return nullptr;
  header->block = static_cast<uint32_t>(block);
  if (header->values == ValueType::kInt8) return at;
  uint16_t step;
  if (end - at < static_cast<ptrdiff_t>(sizeof(step))) return nullptr;
  std::memcpy(&step, at, sizeof(step));
  header->step = FloatOfBits(uint32_t{step} << 16);
  at = ReadVarint(at + sizeof(step), end, &lowest);
  if (at == nullptr || lowest > 2 * kStepMultipleMax) return nullptr;
  header->lowest = static_cast<int32_t>(lowest >> 1) ^ -static_cast<int32_t>(lowest & 1);
  return at;
}

absl::Status CheckSteps(const FrameHeader& header) {
  if (!IsSteps(header.values)) {
    return header.layout == MaskLayout::kRepeats ? Malformed("rows that repeat are for steps") : absl::OkStatus();
  }
  if (!(header.step > 0 && header.step < FloatOfBits(kInfinityBits))) return Malformed(absl::StrCat("a step of ", header.step));
  if (header.size % header.block != 0 || header.kept % header.block != 0) {
    return Malformed(absl::StrCat(header.kept, " of ", header.size, " entries are not rows of ", header.block));
  }
  if (header.layout == MaskLayout::kDense || header.layout == MaskLayout::kRepeats) return absl::OkStatus();
  return Malformed("steps of single entries");
}

// The longest that a mask can be.
size_t MaskBytesMax(const FrameHeader& header) {
  switch (header.layout) {
    case MaskLayout::kBitmap:
      return BitmapBytes(header.size);
    case MaskLayout::kGaps:
      return size_t{header.kept} * 4;
    case MaskLayout::kRepeats:
      return (size_t{header.size} / header.block + 1) * 16;
    default:
      return 0;
  }
}

absl::Status Unpack(Frame* frame) {
  const FrameHeader& header = frame->header;
  const uint8_t* at = frame->body;
  if (HasMask(header.layout)) {
    WEIR_ASSIGN_OR_RETURN(at, ReadSection(at, frame->end, MaskBytesMax(header), &frame->unpacked));
  }
  frame->mask_bytes = frame->unpacked.size();
  const size_t planes = PlanesOf(header.values), value_bytes = ValuesBytes(header.values, header.kept, header.block);
  if (planes == 1) {
    WEIR_ASSIGN_OR_RETURN(at, ReadSection(at, frame->end, value_bytes, &frame->unpacked));
    if (frame->unpacked.size() != frame->mask_bytes + value_bytes) return Malformed(absl::StrCat("it has not ", header.kept, " values"));
  } else {
    std::vector<uint8_t> plane;
    for (size_t i = 0; i < planes; ++i) {
      plane.clear();
      WEIR_ASSIGN_OR_RETURN(at, ReadSection(at, frame->end, header.kept, &plane));
      if (plane.size() != header.kept) return Malformed(absl::StrCat("it has not ", header.kept, " values"));
      // Only now is it known that the values come of as many bytes of the frame.
      frame->unpacked.resize(frame->mask_bytes + value_bytes);
      uint8_t* const values = frame->unpacked.data() + frame->mask_bytes;
      for (size_t k = 0; k < plane.size(); ++k) values[k * planes + i] = plane[k];
    }
  }
  if (at != frame->end) return Malformed("bytes after its values");
  frame->mask = frame->unpacked.data();
  frame->values = frame->mask + frame->mask_bytes;
  return absl::OkStatus();
}

absl::Status CheckBitmap(const Frame& frame) {
  uint64_t kept = 0;
  for (size_t i = 0; i < frame.mask_bytes; i += 8) kept += absl::popcount(Word(frame.mask + i, frame.mask_bytes - i));
  if (kept != frame.header.kept) return Malformed(absl::StrCat("its bitmap marks ", kept, " entries, its header ", frame.header.kept));
  const uint32_t tail = frame.header.size % 8;
  if (tail != 0 && frame.mask[frame.mask_bytes - 1] >> tail != 0) return Malformed("its bitmap marks entries beyond its size");
  return absl::OkStatus();
}

absl::Status CheckGaps(const Frame& frame) {
  const uint8_t* at = frame.mask;
  const uint8_t* end = frame.mask + frame.mask_bytes;
  uint64_t next = 0;
  for (uint32_t i = 0; i < frame.header.kept; ++i) {
    uint64_t gap = 0;
    at = ReadVarint(at, end, &gap);
    if (at == nullptr) return Malformed("a gap is cut off or not in its shortest form");
    if (gap >= frame.header.size - next) return Malformed("a gap leads beyond its size");
    next += gap + 1;
  }
  return at == end ? absl::OkStatus() : Malformed("its length is not that of its gaps and values");
}

absl::Status CheckRepeats(const Frame& frame) {
  if (ForEachRepeat(
          frame, [](uint64_t) {}, [](uint64_t, uint64_t) {}))
    return absl::OkStatus();
  return Malformed("its repeats are not those of its rows");
}

}  // namespace

absl::StatusOr<Frame> ParseHeader(absl::string_view bytes) {
  WEIR_RETURN_IF_ERROR(CheckPrefix(bytes));
  WEIR_RETURN_IF_ERROR(CheckChecksum(bytes));
  return ParseOwnHeader(bytes);
}

absl::StatusOr<Frame> ParseOwnHeader(absl::string_view bytes) {
  WEIR_RETURN_IF_ERROR(CheckPrefix(bytes));
  const uint8_t* at = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* end = at + bytes.size() - kFrameChecksumBytes;
  Frame frame;
  frame.header.packed = (at[2] & kPackedFlag) != 0;
  frame.header.layout = static_cast<MaskLayout>(at[2] & ~kPackedFlag);
  frame.header.values = static_cast<ValueType>(at[3]);
  if (at[3] > static_cast<uint8_t>(ValueType::kSteps16)) return Malformed(absl::StrCat("unknown value type ", at[3]));
  uint64_t size = 0, kept = 0;
  at = ReadVarint(at + kFramePrefixBytes, end, &size);
  if (at != nullptr) at = ReadVarint(at, end, &kept);
  if (at == nullptr) return Malformed("its counts are cut off or not in their shortest form");
  if (size > kFrameEntriesMax) return Malformed(absl::StrCat(size, " entries, at most ", kFrameEntriesMax, " are allowed"));
  if (kept > size) return Malformed(absl::StrCat(kept, " entries kept of ", size));
  frame.header.size = static_cast<uint32_t>(size);
  frame.header.kept = static_cast<uint32_t>(kept);
  if (frame.header.values == ValueType::kInt8 || IsSteps(frame.header.values)) {
    at = ReadScale(at, end, &frame.header);
    if (at == nullptr) return Malformed("its scale is cut off, out of range or not in its shortest form");
    if (frame.header.block == 0) return Malformed("blocks of 0 values");
  }
  WEIR_RETURN_IF_ERROR(CheckSteps(frame.header));
  frame.body = at;
  frame.end = end;
  return frame;
}

absl::Status ParseBody(Frame* frame) {
  const FrameHeader& header = frame->header;
  const size_t value_bytes = ValuesBytes(header.values, header.kept, header.block);
  if (header.packed) {
    WEIR_RETURN_IF_ERROR(Unpack(frame));
  } else {
    if (static_cast<size_t>(frame->end - frame->body) < value_bytes) {
      return Malformed(absl::StrCat("it is too short for ", header.kept, " values"));
    }
    frame->mask = frame->body;
    frame->mask_bytes = frame->end - frame->body - value_bytes;
    frame->values = frame->end - value_bytes;
  }
  WEIR_RETURN_IF_ERROR(CheckMaskBytes(header, frame->mask_bytes));
  return CheckScales(*frame, value_bytes);
}

absl::Status CheckMask(const Frame& frame) {
  switch (frame.header.layout) {
    case MaskLayout::kRepeats:
      return CheckRepeats(frame);
    case MaskLayout::kBitmap:
      return CheckBitmap(frame);
    case MaskLayout::kGaps:
      return CheckGaps(frame);
    case MaskLayout::kDense:
    case MaskLayout::kImplied:
      break;
  }
  return absl::OkStatus();
}

}  // namespace weir::compression
