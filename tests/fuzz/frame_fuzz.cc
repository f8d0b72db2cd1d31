// All decoders of frames. Each input is tried as it is, and with the checksum that belongs to it, past which random bytes would never get.
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "compression/frame.h"
#include "compression/row_changes.h"

namespace weir::compression {
namespace {

constexpr uint32_t kOutputMax = 1 << 16;  // a caller owns the output and knows its size; larger ones only cost time

void Demand(bool holds) {
  if (!holds) abort();
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void CheckImplied(absl::string_view frame, uint32_t size) {
  std::vector<float> out(size);
  Demand(DecodeImplied(frame, absl::MakeSpan(out)).ok());
  Demand(!DecodeInto(frame, absl::MakeSpan(out)).ok() && !DecodeAdd(frame, absl::MakeSpan(out)).ok() && !DecodeSparse(frame, size).ok());
}

// Rows that repeat are whole rows: nobody asks for single entries of them.
void CheckRepeats(absl::string_view frame, uint32_t size) {
  std::vector<float> out(size, 7.0f), untouched(size, 7.0f);
  Demand(DecodeInto(frame, absl::MakeSpan(out)).ok());
  Demand(!DecodeAdd(frame, absl::MakeSpan(untouched)).ok() && !DecodeSparse(frame, size).ok());
  Demand(SameBits(untouched, std::vector<float>(size, 7.0f)));
}

// Packing again says the same.
void CheckPacked(absl::string_view frame, const FrameHeader& header) {
  if (header.layout == MaskLayout::kImplied) return;
  std::string packed(frame);
  PackFrame(&packed);
  Demand(packed.size() <= frame.size());
  std::vector<float> out(header.size), again(header.size);
  Demand(DecodeInto(frame, absl::MakeSpan(out)).ok() && DecodeInto(packed, absl::MakeSpan(again)).ok() && SameBits(out, again));
  const FrameBytes bytes = FrameBytesOf(frame);
  Demand(bytes.header + bytes.mask + bytes.values == frame.size());
}

// The three decoders of a frame with a mask say the same, and what they say can be sent again.
void CheckMasked(absl::string_view frame, const FrameHeader& header) {
  std::vector<float> whole(header.size, 7.0f), scattered(header.size, 0.0f), sums(header.size, 0.0f);
  Demand(DecodeInto(frame, absl::MakeSpan(whole)).ok());
  Demand(DecodeAdd(frame, absl::MakeSpan(sums)).ok());
  const auto entries = DecodeSparse(frame, header.size);
  Demand(entries.ok() && entries->positions.size() <= header.kept && entries->values.size() == entries->positions.size());
  for (size_t i = 0; i < entries->positions.size(); ++i) {
    Demand(entries->positions[i] < header.size && (i == 0 || entries->positions[i - 1] < entries->positions[i]));
    scattered[entries->positions[i]] = entries->values[i];
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    Demand(whole[i] == scattered[i] || (whole[i] != whole[i] && scattered[i] != scattered[i]));
    Demand(whole[i] == sums[i] || (whole[i] != whole[i] && sums[i] != sums[i]));
  }
  std::vector<float> held(header.size, 0.5f);
  Demand(DecodeRowChanges(frame, absl::MakeSpan(held)).ok());
  // Blocks may be longer than EncodeSparse makes them, steps come from elsewhere, and what is packed may be shorter.
  if (header.values == ValueType::kInt8 || header.values == ValueType::kSteps8 || header.values == ValueType::kSteps16) return;
  if (header.packed) return;
  std::string again;
  if (!EncodeSparse(header.size, entries->positions, entries->values, header.values, &again).ok()) return;  // NaN or infinity
  Demand(again.size() <= frame.size());
  std::vector<float> whole_again(header.size);
  Demand(DecodeInto(again, absl::MakeSpan(whole_again)).ok());
  for (size_t i = 0; i < whole.size(); ++i) Demand(whole[i] == whole_again[i]);
}

void Check(absl::string_view frame) {
  const auto header = DecodeHeader(frame);
  std::vector<float> untouched(3, 7.0f);
  if (!header.ok() || header->size != 3) {
    for (const bool accepted : {DecodeInto(frame, absl::MakeSpan(untouched)).ok(), DecodeAdd(frame, absl::MakeSpan(untouched)).ok(),
                                DecodeImplied(frame, absl::MakeSpan(untouched)).ok(), DecodeSparse(frame, 3).ok()}) {
      Demand(!accepted);
    }
    Demand(SameBits(untouched, std::vector<float>(3, 7.0f)));
  }
  if (!header.ok() || header->size > kOutputMax) return;
  CheckPacked(frame, *header);
  if (header->layout == MaskLayout::kImplied) return CheckImplied(frame, header->size);
  header->layout == MaskLayout::kRepeats ? CheckRepeats(frame, header->size) : CheckMasked(frame, *header);
}

}  // namespace
}  // namespace weir::compression

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string frame(reinterpret_cast<const char*>(data), size);
  weir::compression::Check(frame);
  const uint32_t checksum = static_cast<uint32_t>(XXH3_64bits(data, size));
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(checksum >> shift & 0xff));
  weir::compression::Check(frame);
  return 0;
}
