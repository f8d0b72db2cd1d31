#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/frame_parse.h"
#include "compression/varint.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

constexpr size_t kChunk = 512;  // entries decoded at a time: they stay in the first-level cache

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
      case MaskLayout::kRepeats:  // positions among the rows that travel
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
    case ValueType::kFp8:
      return FloatsFromMinifloats(frame.values + begin, values);
    case ValueType::kSteps8:
      return FloatsFromCodes8(frame.values + begin, frame.header.lowest, frame.header.step, values);
    case ValueType::kSteps16:
      return FloatsFromCodes16(frame.values + begin * 2, frame.header.lowest, frame.header.step, values);
  }
}

void ReadRepeats(const Frame& frame, absl::Span<float> out) {
  const size_t width = frame.header.block;
  size_t read = 0, done = 0;
  ForEachRepeat(
      frame,
      [&](uint64_t rows) {
        ReadValues(frame, read, out.subspan(done, rows * width));
        read += rows * width;
        done += rows * width;
      },
      [&](uint64_t rows, uint64_t distance) {
        // A distance below the length repeats what is being written.
        for (uint64_t row = 0; row < rows; ++row, done += width) std::copy_n(&out[done - distance * width], width, &out[done]);
      });
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

enum class Wanted { kAll, kEntries, kValues };

// A frame that carries or lacks its mask as wanted, and has the size wanted.
absl::StatusOr<Frame> ParseWanted(absl::string_view bytes, Wanted wanted, size_t size) {
  WEIR_ASSIGN_OR_RETURN(Frame frame, ParseHeader(bytes));
  const bool implied = frame.header.layout == MaskLayout::kImplied;
  if (implied != (wanted == Wanted::kValues)) {
    return absl::InvalidArgumentError(implied ? "the frame has no mask, one is wanted"
                                              : "the frame brings a mask, values alone are wanted");
  }
  if (wanted == Wanted::kEntries && frame.header.layout == MaskLayout::kRepeats) {
    return absl::InvalidArgumentError("the frame brings rows that repeat, single entries are wanted");
  }
  if (frame.header.size != size)
    return absl::InvalidArgumentError(absl::StrCat("the frame has ", frame.header.size, " entries, not ", size));
  WEIR_RETURN_IF_ERROR(ParseBody(&frame));
  WEIR_RETURN_IF_ERROR(CheckMask(frame));
  return frame;
}

}  // namespace

absl::StatusOr<FrameHeader> DecodeHeader(absl::string_view frame) {
  WEIR_ASSIGN_OR_RETURN(Frame parsed, ParseHeader(frame));
  WEIR_RETURN_IF_ERROR(ParseBody(&parsed));
  WEIR_RETURN_IF_ERROR(CheckMask(parsed));
  return parsed.header;
}

absl::Status DecodeInto(absl::string_view frame, absl::Span<float> out) {
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, Wanted::kAll, out.size()));
  if (parsed.header.layout == MaskLayout::kDense) {
    ReadValues(parsed, 0, out);
    return absl::OkStatus();
  }
  if (parsed.header.layout == MaskLayout::kRepeats) {
    ReadRepeats(parsed, out);
    return absl::OkStatus();
  }
  std::fill(out.begin(), out.end(), 0.0f);
  ForEachChunk(parsed, [out](absl::Span<const uint32_t> positions, absl::Span<const float> values) {
    for (size_t i = 0; i < positions.size(); ++i) out[positions[i]] = values[i];
  });
  return absl::OkStatus();
}

absl::Status DecodeAdd(absl::string_view frame, absl::Span<float> out) {
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, Wanted::kEntries, out.size()));
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
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, Wanted::kEntries, size));
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
  WEIR_ASSIGN_OR_RETURN(const Frame parsed, ParseWanted(frame, Wanted::kValues, out.size()));
  ReadValues(parsed, 0, out);
  return absl::OkStatus();
}

}  // namespace weir::compression
