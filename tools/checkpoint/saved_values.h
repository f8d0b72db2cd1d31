// What the files of a checkpoint hold, for tools that look into it.
#ifndef WEIR_TOOLS_CHECKPOINT_SAVED_VALUES_H_
#define WEIR_TOOLS_CHECKPOINT_SAVED_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/table/table.h"
#include "tools/checkpoint/find_checkpoint.h"

namespace weir::tools {

// All rows of one table, by key.
struct SavedTable {
  uint32_t weights = 0;  // of a row, in floats
  uint32_t slots = 0;
  server::RowBatch rows;

  size_t row_floats() const { return size_t{weights} + slots; }
};

// By name; tables without rows are left out. Reads and checks all server files: errors as for ForEachSavedBlock. `wanted` empty: every
// table; otherwise INVALID_ARGUMENT for one that the checkpoint does not have.
absl::StatusOr<std::map<std::string, SavedTable>> ReadSavedTables(const Checkpoint& checkpoint,
                                                                  const std::vector<std::string>& wanted = {});

// What worker `rank` saved, by name (docs/checkpoints.md). DATA_LOSS: the file is damaged.
using SavedValues = std::map<std::string, std::string>;
absl::StatusOr<SavedValues> ReadSavedValues(const Checkpoint& checkpoint, uint32_t rank);
// The floats of a value; empty when its bytes are no whole number of them.
std::vector<float> FloatsOf(absl::string_view bytes);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_CHECKPOINT_SAVED_VALUES_H_
