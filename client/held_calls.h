// Held rows on the wire: how a run of slots is asked for, and how its answer becomes rows. Pure; no RPC.
#ifndef WEIR_CLIENT_HELD_CALLS_H_
#define WEIR_CLIENT_HELD_CALLS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/call_splitter.h"
#include "client/held_rows.h"
#include "compression/dct_layer.h"
#include "proto/data_service.pb.h"
#include "proto/row_initializer.h"

namespace weir::client {

// `run` of a table batch, with how it is held. Slots up to HeldRange::begin_new are named by number.
struct HeldRun {
  const TableBatch& batch;
  const HeldTableBatch& held;
  uint32_t server = 0;
  KeyRun run;
};

void EncodeHeldRun(const HeldRun& run, TableKeys::Coding coding, TableKeys* out);

struct RowKind {
  uint32_t dim = 0;
  const RowInitializer* initializer = nullptr;  // null: the servers do not tell
};

// Brings what is held up to date by an answer, and writes the rows to `rows` (run.size() x dim). Adds to `stats` what travelled of held
// rows. INVALID_ARGUMENT or DATA_LOSS: frames that are not what was asked for.
absl::Status ReadHeldRun(const HeldRun& run, const TableRows& answer, RowKind kind, absl::Span<float> rows, compression::DctStats* stats);

}  // namespace weir::client

#endif  // WEIR_CLIENT_HELD_CALLS_H_
