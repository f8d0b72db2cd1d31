#include "compression/row_changes.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "compression/kept_entries.h"
#include "compression/threshold.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

// The new entries of fp32 rows. A dense frame cannot say which of its entries are kept, so it brings all of them.
absl::Status EncodeEntries(absl::Span<const float> rows, absl::Span<const uint32_t> positions, absl::Span<float> held, std::string* frame) {
  std::vector<float> values(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) values[i] = rows[positions[i]];
  std::string sparse;
  WEIR_RETURN_IF_ERROR(EncodeSparse(static_cast<uint32_t>(rows.size()), positions, values, ValueType::kFp32, &sparse));
  WEIR_ASSIGN_OR_RETURN(const FrameHeader header, DecodeHeader(sparse));
  if (header.layout == MaskLayout::kDense) {
    WEIR_RETURN_IF_ERROR(EncodeDense(rows, ValueType::kFp32, frame));
    std::copy(rows.begin(), rows.end(), held.begin());
    return absl::OkStatus();
  }
  frame->append(sparse);
  for (size_t i = 0; i < positions.size(); ++i) held[positions[i]] = values[i];
  return absl::OkStatus();
}

absl::Status EncodeDifferences(absl::Span<const float> differences, absl::Span<const uint32_t> positions, ValueType type,
                               absl::Span<float> held, std::string* frame) {
  const float largest = LargestValue(type);
  std::vector<float> values(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) values[i] = std::clamp(differences[positions[i]], -largest, largest);
  std::string encoded;
  WEIR_RETURN_IF_ERROR(EncodeSparse(static_cast<uint32_t>(differences.size()), positions, values, type, &encoded));
  WEIR_RETURN_IF_ERROR(DecodeAdd(encoded, held));
  frame->append(encoded);
  return absl::OkStatus();
}

}  // namespace

absl::Status EncodeRowChanges(absl::Span<const float> rows, const RowChangeOptions& options, absl::Span<float> held, std::string* frame) {
  std::vector<float> differences(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) differences[i] = rows[i] - held[i];
  if (MaxMagnitudeBits(differences) >= kInfinityBits) return NotFinite(rows, differences);
  std::vector<uint32_t> positions;
  SelectKept(differences, MagnitudeThreshold(differences, options.sparsity), 0, &positions);
  if (options.values == ValueType::kFp32) return EncodeEntries(rows, positions, held, frame);
  return EncodeDifferences(differences, positions, options.values, held, frame);
}

absl::StatusOr<FrameHeader> DecodeRowChanges(absl::string_view frame, absl::Span<float> held) {
  WEIR_ASSIGN_OR_RETURN(const FrameHeader header, DecodeHeader(frame));
  if (header.values != ValueType::kFp32) {
    WEIR_RETURN_IF_ERROR(DecodeAdd(frame, held));
  } else if (header.layout == MaskLayout::kDense) {
    WEIR_RETURN_IF_ERROR(DecodeInto(frame, held));
  } else {
    WEIR_ASSIGN_OR_RETURN(const SparseEntries entries, DecodeSparse(frame, static_cast<uint32_t>(held.size())));
    for (size_t i = 0; i < entries.positions.size(); ++i) held[entries.positions[i]] = entries.values[i];
  }
  return header;
}

}  // namespace weir::compression
