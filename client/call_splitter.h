// Cuts the keys of one step into calls: for each server one part, or more when a call would pass its target size. Pure.
#ifndef WEIR_CLIENT_CALL_SPLITTER_H_
#define WEIR_CLIENT_CALL_SPLITTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/key_router.h"

namespace weir::client {

// A table of a step, and its keys. Slot s has row first_row + s of a buffer that holds the rows of all tables of the step.
struct TableBatch {
  uint32_t table = 0;
  size_t first_row = 0;
  RoutedKeys keys;
};

// Slots [begin, end) of one table; never empty.
struct KeyRun {
  uint32_t batch = 0;  // index in the step's TableBatches
  uint32_t begin = 0;
  uint32_t end = 0;

  uint32_t size() const { return end - begin; }
};

// What one lookup and the push that follows it carry.
struct CallPart {
  uint32_t server = 0;
  uint32_t part = 0;         // index among the parts of this server
  uint32_t parts = 0;        // of this server
  std::vector<KeyRun> runs;  // increasing batches; empty when the server owns no key of the step
};

// Parts ordered by server and part, at least one for each server. `key_bytes` is what one key costs in the larger of the two directions;
// a part holds at least one key, whatever that costs. RESOURCE_EXHAUSTED: more parts than base/limits.h allows.
struct SplitOptions {
  uint32_t server_count = 1;
  size_t key_bytes = 1;
  size_t call_bytes_target = 1;
};
absl::StatusOr<std::vector<CallPart>> SplitCalls(absl::Span<const TableBatch> batches, const SplitOptions& options);

}  // namespace weir::client

#endif  // WEIR_CLIENT_CALL_SPLITTER_H_
