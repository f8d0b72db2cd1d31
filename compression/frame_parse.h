// Frames taken apart and checked (compression/FORMAT.md), for the decoders. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_FRAME_PARSE_H_
#define WEIR_COMPRESSION_FRAME_PARSE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compression/frame.h"
#include "compression/varint.h"

namespace weir::compression {

// A frame whose lengths, fields and checksum are good.
struct Frame {
  FrameHeader header;
  const uint8_t* body = nullptr;  // what follows the header ...
  const uint8_t* end = nullptr;   // ... up to the checksum
  std::vector<uint8_t> unpacked;  // mask and values of a packed frame
  const uint8_t* mask = nullptr;
  size_t mask_bytes = 0;
  const uint8_t* values = nullptr;
};

// All but mask and values, which are not looked at. Errors as frame.h.
absl::StatusOr<Frame> ParseHeader(absl::string_view bytes);
// The same of a frame whose checksum is known to be good, or does not matter.
absl::StatusOr<Frame> ParseOwnHeader(absl::string_view bytes);
// Finds, or unpacks, mask and values. Takes memory for a packed frame only, a small multiple of its bytes.
absl::Status ParseBody(Frame* frame);
// OK when the mask is one of the frame's entries.
absl::Status CheckMask(const Frame& frame);

inline bool HasMask(MaskLayout layout) { return layout != MaskLayout::kDense && layout != MaskLayout::kImplied; }

// The first bytes, up to 8 of them, as a number; zeros above.
inline uint64_t Word(const uint8_t* bytes, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, std::min(size, sizeof(word)));
  return word;
}

// Calls literals(rows) and repeat(rows, distance in rows) in turn for the rows of a frame. False: they are not its rows.
template <typename Literals, typename Repeat>
bool ForEachRepeat(const Frame& frame, Literals literals, Repeat repeat) {
  const uint8_t* at = frame.mask;
  const uint8_t* const end = at + frame.mask_bytes;
  const uint64_t rows = frame.header.size / frame.header.block;
  uint64_t left = frame.header.kept / frame.header.block;
  uint64_t done = 0;
  while (at != end) {
    uint64_t kept = 0, distance = 0, length = 0;
    at = ReadVarint(at, end, &kept);
    if (at == nullptr || kept > left) return false;
    literals(kept);
    left -= kept;
    done += kept;
    if (at == end) break;
    at = ReadVarint(at, end, &distance);
    if (at != nullptr) at = ReadVarint(at, end, &length);
    if (at == nullptr || distance == 0 || distance > std::min<uint64_t>(done, kRepeatWindowRows)) return false;
    if (length == 0 || length > rows - done) return false;
    repeat(length, distance);
    done += length;
  }
  return done == rows && left == 0;
}

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_FRAME_PARSE_H_
