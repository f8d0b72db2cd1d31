// The frame: one encoded block of numbers on the wire. Format: compression/FORMAT.md.
//
// Encoding chooses the smallest of {dense, bitmap, gaps} for the mask. Every function appends to or reads from plain strings; nothing here
// keeps state. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_FRAME_H_
#define WEIR_COMPRESSION_FRAME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weir::compression {

enum class ValueType : uint8_t {
  kFp32 = 0,
  kFp16 = 1,
  kBf16 = 2,
  kInt8 = 3,  // a byte a value, and one for each block of values: their common power of two
  kFp8 = 4,   // a byte a value: sign, 6 bits of exponent, 1 of mantissa
  // Multiples of a step that the header brings, as codes of one or two bytes. compression/bounded_rows.h makes these frames, the encoders
  // below do not.
  kSteps8 = 5,
  kSteps16 = 6,
};

// Values that share a scale in kInt8 frames that do not say otherwise.
inline constexpr uint32_t kInt8Block = 32;

enum class MaskLayout : uint8_t {
  kDense = 0,    // all entries, no mask
  kBitmap = 1,   // one bit an entry
  kGaps = 2,     // varint distances between kept entries
  kImplied = 3,  // values only: both sides know the mask
  kRepeats = 4,  // of kSteps8 and kSteps16: rows that are equal to one shortly before them do not travel
};

struct FrameHeader {
  ValueType values = ValueType::kFp32;
  MaskLayout layout = MaskLayout::kDense;
  uint32_t size = 0;  // entries, kept or not; kImplied: = kept
  uint32_t kept = 0;
  uint32_t block = 0;  // kInt8: values that share a scale; kSteps8, kSteps16: entries of a row
  float step = 0;      // kSteps8, kSteps16: a value is (lowest + code) * step
  int32_t lowest = 0;
  bool packed = false;  // mask and values by PackFrame
};

// Entries a frame keeps: positions strictly increasing, one value for each.
struct SparseEntries {
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

// Appends a frame of all `values`; with kInt8 each `block` of them, above 0, shares a scale. INVALID_ARGUMENT, naming the position, and
// `out` as it was: a value that is not finite or would round to infinity; or more entries than base/limits.h kFrameEntriesMax.
absl::Status EncodeDense(absl::Span<const float> values, ValueType type, std::string* out, uint32_t block = kInt8Block);

// Appends a frame of `size` entries of which those at `positions` are kept. With a density where a dense frame is smaller, that is chosen
// and the others travel as zeros. Errors as EncodeDense; also when positions do not increase, reach `size`, or are not as many as values.
absl::Status EncodeSparse(uint32_t size, absl::Span<const uint32_t> positions, absl::Span<const float> values, ValueType type,
                          std::string* out);

// Appends a frame of values whose mask the receiver has (layout kImplied). Errors as EncodeDense.
absl::Status EncodeImplied(absl::Span<const float> values, ValueType type, std::string* out);

// Rows of `width` entries as multiples of a step (compression/bounded_rows.h makes them).
inline constexpr uint32_t kRepeatWindowRows = 32;   // how far back a row that repeats is found
inline constexpr int32_t kStepMultipleMax = 32768;  // of either sign: times a step of 8 bits of mantissa it is exact in fp32
struct StepRows {
  uint32_t rows = 0;
  uint32_t width = 1;
  float step = 1;  // has no more than 8 bits of mantissa
  int32_t lowest = 0;
  ValueType type = ValueType::kSteps8;
  bool repeats = false;             // layout kRepeats; else kDense
  absl::string_view mask;           // of kRepeats, as in FORMAT.md
  absl::Span<const uint8_t> codes;  // of the rows that travel, little-endian
};
// Appends a frame of them. REQUIRES: that they fit each other, and frames.
void EncodeSteps(const StepRows& rows, std::string* out);

// Packs the mask and the values of a frame by an entropy code (compression/packed_bytes.h), the bytes of equal weight of all values
// together; a frame that would not be shorter stays as it is. Every decoder reads both. An empty string stays empty. REQUIRES: a frame of
// one of the encoders.
void PackFrame(std::string* frame);

// The decoders refuse, with INVALID_ARGUMENT or DATA_LOSS (checksum) and before they allocate, whatever is not a well-formed frame; a frame
// ends exactly at the end of the string. On an error nothing was written. Values are not looked at: who must not see NaN or infinity checks
// them.
absl::StatusOr<FrameHeader> DecodeHeader(absl::string_view frame);

// What the bytes of a frame are for; they add up to its size.
struct FrameBytes {
  uint64_t header = 0;  // with the checksum
  uint64_t mask = 0;
  uint64_t values = 0;  // of int8: with the scales of their blocks

  FrameBytes& operator+=(const FrameBytes& other) {
    header += other.header;
    mask += other.mask;
    values += other.values;
    return *this;
  }
};
// Reads the header alone. A string that is no frame is all header; an empty one has no bytes.
FrameBytes FrameBytesOf(absl::string_view frame);

// Writes all entries, zeros where not kept. The frame's size must be out.size(); not for kImplied.
absl::Status DecodeInto(absl::string_view frame, absl::Span<float> out);

// Adds the kept entries to `out`. The frame's size must be out.size(); not for kImplied and kRepeats.
absl::Status DecodeAdd(absl::string_view frame, absl::Span<float> out);

// The kept entries. The frame's size must be `size`; not for kImplied and kRepeats. A dense frame gives all entries that are not exactly
// zero.
absl::StatusOr<SparseEntries> DecodeSparse(absl::string_view frame, uint32_t size);

// Values of a kImplied frame of exactly out.size() entries.
absl::Status DecodeImplied(absl::string_view frame, absl::Span<float> out);

// The largest magnitude that a frame of this type carries.
float LargestValue(ValueType type);

// Makes of `values` what a receiver reads when a frame (of kInt8: with blocks of kInt8Block) brings exactly these, in this order. Once
// rounded, they are not changed by rounding again. REQUIRES: finite, at most LargestValue.
void RoundValues(ValueType type, absl::Span<float> values);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_FRAME_H_
