#include <algorithm>
#include <cstring>

#include "absl/base/casts.h"
#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/frame_layout.h"
#include "compression/half.h"
#include "compression/varint.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

constexpr size_t kChunk = 512;  // entries decoded at a time: they stay in the first-level cache

// A frame whose lengths, fields and checksum are good.
struct Frame {
  FrameHeader header;
  const uint8_t* mask = nullptr;
  size_t mask_bytes = 0;
  const uint8_t* values = nullptr;
};

absl::Status Malformed(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("malformed frame: ", what)); }

absl::Status CheckPrefix(absl::string_view frame) {
  if (frame.size() < kFramePrefixBytes + 2 + kFrameChecksumBytes) return Malformed(absl::StrCat(frame.size(), " bytes are too few"));
  if (static_cast<uint8_t>(frame[0]) != kFrameMagic) return Malformed("it does not begin with the magic byte");
  if (static_cast<uint8_t>(frame[1]) != kFrameVersion) {
    return Malformed(absl::StrCat("version ", static_cast<uint8_t>(frame[1]), ", this process reads ", kFrameVersion));
  }
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

absl::StatusOr<Frame> ParseFrame(absl::string_view bytes) {
  WEIR_RETURN_IF_ERROR(CheckPrefix(bytes));
  const uint8_t* at = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* end = at + bytes.size() - kFrameChecksumBytes;
  Frame frame;
  frame.header.layout = static_cast<MaskLayout>(at[2]);
  frame.header.values = static_cast<ValueType>(at[3]);
  if (at[3] > static_cast<uint8_t>(ValueType::kInt8)) return Malformed(absl::StrCat("unknown value type ", at[3]));
  uint64_t size = 0, kept = 0;
  at = ReadVarint(at + kFramePrefixBytes, end, &size);
  if (at != nullptr) at = ReadVarint(at, end, &kept);
  if (at == nullptr) return Malformed("its counts are cut off or not in their shortest form");
  if (size > kFrameEntriesMax) return Malformed(absl::StrCat(size, " entries, at most ", kFrameEntriesMax, " are allowed"));
  if (kept > size) return Malformed(absl::StrCat(kept, " entries kept of ", size));
  frame.header.size = static_cast<uint32_t>(size);
  frame.header.kept = static_cast<uint32_t>(kept);
  if (frame.header.values == ValueType::kInt8) {
    uint64_t block = 0;
    at = ReadVarint(at, end, &block);
    if (at == nullptr) return Malformed("its block size is cut off or not in its shortest form");
    if (block == 0 || block > kFrameEntriesMax) return Malformed(absl::StrCat("blocks of ", block, " values"));
    frame.header.block = static_cast<uint32_t>(block);
  }
  const size_t value_bytes = ValuesBytes(frame.header.values, kept, frame.header.block);
  if (static_cast<size_t>(end - at) < value_bytes) return Malformed(absl::StrCat("it is too short for ", kept, " values"));
  frame.mask = at;
  frame.mask_bytes = end - at - value_bytes;
  frame.values = end - value_bytes;
  WEIR_RETURN_IF_ERROR(CheckMaskBytes(frame.header, frame.mask_bytes));
  WEIR_RETURN_IF_ERROR(CheckScales(frame, value_bytes));
  return frame;
}

uint64_t Word(const uint8_t* bytes, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, std::min(size, sizeof(word)));
  return word;
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

absl::Status CheckMask(const Frame& frame) {
  switch (frame.header.layout) {
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

// Gives the kept positions of a frame whose mask was checked, in order, as many at a time as asked for.
class PositionReader {
 public:
  explicit PositionReader(const Frame& frame) : frame_(frame), gap_(frame.mask) {}

  // REQUIRES: that many are left.
  void Read(absl::Span<uint32_t> positions) {
    switch (frame_.header.layout) {
      case MaskLayout::kGaps:
        return ReadGaps(positions);
      case MaskLayout::kBitmap:
        return ReadBitmap(positions);
      case MaskLayout::kDense:
      case MaskLayout::kImplied:
        for (uint32_t& position : positions) position = next_++;
    }
  }

 private:
  void ReadGaps(absl::Span<uint32_t> positions) {
    const uint8_t* end = frame_.mask + frame_.mask_bytes;
    for (uint32_t& position : positions) {
      uint64_t gap = 0;
      gap_ = ReadVarint(gap_, end, &gap);
      position = next_ + static_cast<uint32_t>(gap);
      next_ = position + 1;
    }
  }

  void ReadBitmap(absl::Span<uint32_t> positions) {
    for (uint32_t& position : positions) {
      while (word_ == 0) {
        word_ = Word(frame_.mask + word_begin_, frame_.mask_bytes - word_begin_);
        word_begin_ += 8;
      }
      position = static_cast<uint32_t>((word_begin_ - 8) * 8 + absl::countr_zero(word_));
      word_ &= word_ - 1;
    }
  }

  const Frame& frame_;
  const uint8_t* gap_;
  uint32_t next_ = 0;
  size_t word_begin_ = 0;  // byte of the mask where the next word begins
  uint64_t word_ = 0;      // bits of the last word that were not given yet
};

void ReadValues(const Frame& frame, size_t begin, absl::Span<float> values) {
  switch (frame.header.values) {
    case ValueType::kFp32:
      if (!values.empty()) std::memcpy(values.data(), frame.values + begin * sizeof(float), values.size() * sizeof(float));
      return;
    case ValueType::kFp16:
      return FloatsFromHalves(frame.values + begin * 2, values);
    case ValueType::kBf16:
      return FloatsFromBrains(frame.values + begin * 2, values);
    case ValueType::kInt8:
      return FloatsFromInt8(frame.values, frame.header.block, begin, values);
  }
}

// Calls visit(positions, values) for all kept entries, a chunk at a time.
template <typename Visit>
void ForEachChunk(const Frame& frame, Visit visit) {
  PositionReader reader(frame);
  uint32_t positions[kChunk];
  float values[kChunk];
  for (size_t begin = 0; begin < frame.header.kept; begin += kChunk) {
    const size_t count = std::min<size_t>(kChunk, frame.header.kept - begin);
    reader.Read({positions, count});
    ReadValues(frame, begin, {values, count});
    visit(absl::MakeConstSpan(positions, count), absl::MakeConstSpan(values, count));
  }
}

// A frame that carries or lacks its mask as wanted, and has the size wanted.
absl::StatusOr<Frame> ParseWanted(absl::string_view bytes, bool implied, size_t size) {
  WEIR_ASSIGN_OR_RETURN(const Frame frame, ParseFrame(bytes));
  if ((frame.header.layout == MaskLayout::kImplied) != implied) {
    return absl::InvalidArgumentError(implied ? "the frame brings a mask, values alone are wanted"
                                              : "the frame has no mask, one is wanted");
  }
  if (frame.header.size != size)
    return absl::InvalidArgumentError(absl::StrCat("the frame has ", frame.header.size, " entries, not ", size));
  WEIR_RETURN_IF_ERROR(CheckMask(frame));
  return frame;
}

}  // namespace

FrameBytes FrameBytesOf(absl::string_view frame) {
  FrameBytes bytes;
  bytes.header = frame.size();
  if (frame.size() < kFramePrefixBytes + kFrameChecksumBytes) return bytes;
  const uint8_t* const begin = reinterpret_cast<const uint8_t*>(frame.data());
  const uint8_t* const end = begin + frame.size() - kFrameChecksumBytes;
  uint64_t size = 0, kept = 0, block = kInt8Block;
  const auto type = static_cast<ValueType>(begin[3]);
  const uint8_t* at = ReadVarint(begin + kFramePrefixBytes, end, &size);
  if (at != nullptr) at = ReadVarint(at, end, &kept);
  if (at != nullptr && type == ValueType::kInt8) at = ReadVarint(at, end, &block);
  if (at == nullptr || block == 0 || kept > frame.size()) return bytes;
  const size_t values = ValuesBytes(type, kept, block);
  if (values > static_cast<size_t>(end - at)) return bytes;
  bytes.values = values;
  bytes.mask = static_cast<uint64_t>(end - at) - values;
  bytes.header = frame.size() - bytes.values - bytes.mask;
  return bytes;
}

absl::StatusOr<FrameHeader> DecodeHeader(absl::string_view frame) {
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseFrame(frame));
  WEIR_RETURN_IF_ERROR(CheckMask(parsed));
  return parsed.header;
}

absl::Status DecodeInto(absl::string_view frame, absl::Span<float> out) {
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, false, out.size()));
  if (parsed.header.layout == MaskLayout::kDense) {
    ReadValues(parsed, 0, out);
    return absl::OkStatus();
  }
  std::fill(out.begin(), out.end(), 0.0f);
  ForEachChunk(parsed, [out](absl::Span<const uint32_t> positions, absl::Span<const float> values) {
    for (size_t i = 0; i < positions.size(); ++i) out[positions[i]] = values[i];
  });
  return absl::OkStatus();
}

absl::Status DecodeAdd(absl::string_view frame, absl::Span<float> out) {
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, false, out.size()));
  const bool dense = parsed.header.layout == MaskLayout::kDense;
  ForEachChunk(parsed, [out, dense](absl::Span<const uint32_t> positions, absl::Span<const float> values) {
    if (dense) {
      float* sums = &out[positions[0]];
      AddInto(values, absl::MakeConstSpan(sums, values.size()), sums);
    } else {
      for (size_t i = 0; i < positions.size(); ++i) out[positions[i]] += values[i];
    }
  });
  return absl::OkStatus();
}

absl::StatusOr<SparseEntries> DecodeSparse(absl::string_view frame, uint32_t size) {
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, false, size));
  SparseEntries entries;
  if (parsed.header.layout != MaskLayout::kDense) {
    entries.positions.resize(parsed.header.kept);
    entries.values.resize(parsed.header.kept);
    PositionReader(parsed).Read(absl::MakeSpan(entries.positions));
    ReadValues(parsed, 0, absl::MakeSpan(entries.values));
    return entries;
  }
  ForEachChunk(parsed, [&entries](absl::Span<const uint32_t> positions, absl::Span<const float> values) {
    for (size_t i = 0; i < positions.size(); ++i) {
      if (values[i] == 0) continue;
      entries.positions.push_back(positions[i]);
      entries.values.push_back(values[i]);
    }
  });
  return entries;
}

absl::Status DecodeImplied(absl::string_view frame, absl::Span<float> out) {
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, true, out.size()));
  ReadValues(parsed, 0, out);
  return absl::OkStatus();
}

}  // namespace weir::compression
