#include <cstring>
#include <utility>
#include <vector>

#include "compression/frame.h"
#include "compression/frame_layout.h"
#include "compression/frame_parse.h"
#include "compression/packed_bytes.h"

namespace weir::compression {

FrameBytes FrameBytesOf(absl::string_view frame) {
  FrameBytes bytes;
  bytes.header = frame.size();
  const absl::StatusOr<Frame> parsed = ParseOwnHeader(frame);
  if (!parsed.ok()) return bytes;
  const FrameHeader& header = parsed->header;
  const size_t body = parsed->end - parsed->body;
  if (header.packed) {
    const uint8_t* const values = HasMask(header.layout) ? SkipSection(parsed->body, parsed->end) : parsed->body;
    if (values == nullptr) return bytes;
    bytes.values = parsed->end - values;
  } else {
    bytes.values = ValuesBytes(header.values, header.kept, header.block);
    if (bytes.values > body) return {frame.size()};
  }
  bytes.mask = body - bytes.values;
  bytes.header = frame.size() - body;
  return bytes;
}

void PackFrame(std::string* frame) {
  if (frame->empty()) return;
  absl::StatusOr<Frame> parsed = ParseOwnHeader(*frame);
  if (!parsed.ok() || parsed->header.packed || !ParseBody(&*parsed).ok()) return;
  FrameHeader header = parsed->header;
  header.packed = true;
  uint8_t prefix[kFrameHeaderBytesMax];
  std::string packed(reinterpret_cast<const char*>(prefix), WriteFrameHeader(header, prefix) - prefix);
  if (HasMask(header.layout)) AppendSection({parsed->mask, parsed->mask_bytes}, &packed);
  const size_t planes = PlanesOf(header.values), value_bytes = ValuesBytes(header.values, header.kept, header.block);
  if (planes == 1) {
    AppendSection({parsed->values, value_bytes}, &packed);
  } else {
    std::vector<uint8_t> plane(header.kept);
    for (size_t i = 0; i < planes; ++i) {
      for (size_t k = 0; k < plane.size(); ++k) plane[k] = parsed->values[k * planes + i];
      AppendSection(plane, &packed);
    }
  }
  if (packed.size() + kFrameChecksumBytes >= frame->size()) return;
  const uint32_t checksum = FrameChecksum(packed.data(), packed.size());
  packed.append(reinterpret_cast<const char*>(&checksum), kFrameChecksumBytes);
  *frame = std::move(packed);
}

}  // namespace weir::compression
