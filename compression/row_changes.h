// A threshold with memory, for the forward path: a reader keeps the rows that it has seen, and of a row that it asks for again only the
// entries travel that have moved by at least a dynamic threshold from what it holds. The rest of the change stays as an implicit residual:
// it is late, never lost, since the next comparison is with what the reader holds.
#ifndef WEIR_COMPRESSION_ROW_CHANGES_H_
#define WEIR_COMPRESSION_ROW_CHANGES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compression/frame.h"

namespace weir::compression {

struct RowChangeOptions {
  double sparsity = 0;  // share of the entries whose change does not travel now, [0, 1)
  ValueType values = ValueType::kFp32;
};

// Thread-safe (pure functions).

// Appends to `frame` what changes `held`, which the reader has, into `rows` as far as the threshold lets it, and makes `held` what the
// reader has after decoding, bit for bit. With kFp32 the new entries themselves travel, so that sparsity 0 brings rows exactly; other types
// carry differences, whose rounding stays for the next time. The threshold is exact over these entries. INVALID_ARGUMENT, naming the
// position, and nothing changed: an entry that is not finite, or a difference that overflows. REQUIRES: equal sizes, at most
// kFrameEntriesMax.
absl::Status EncodeRowChanges(absl::Span<const float> rows, const RowChangeOptions& options, absl::Span<float> held, std::string* frame);

// The reader's side; the header tells how many entries travelled. Errors as frame.h DecodeAdd; on an error nothing has changed.
absl::StatusOr<FrameHeader> DecodeRowChanges(absl::string_view frame, absl::Span<float> held);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_ROW_CHANGES_H_
