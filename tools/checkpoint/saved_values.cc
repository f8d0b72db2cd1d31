#include "tools/checkpoint/saved_values.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/state_file.h"
#include "base/status_macros.h"
#include "server/checkpoint/shard_files.h"

namespace weir::tools {
namespace {

void SortByKey(SavedTable* table) {
  const size_t width = table->row_floats();
  std::vector<size_t> order(table->rows.keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [table](size_t a, size_t b) { return table->rows.keys[a] < table->rows.keys[b]; });
  server::RowBatch sorted;
  sorted.keys.reserve(order.size());
  sorted.values.reserve(table->rows.values.size());
  for (const size_t row : order) {
    const auto first = table->rows.values.begin() + static_cast<ptrdiff_t>(row * width);
    sorted.keys.push_back(table->rows.keys[row]);
    sorted.values.insert(sorted.values.end(), first, first + static_cast<ptrdiff_t>(width));
  }
  table->rows = std::move(sorted);
}

}  // namespace

absl::StatusOr<std::map<std::string, SavedTable>> ReadSavedTables(const Checkpoint& checkpoint, const std::vector<std::string>& wanted) {
  std::map<std::string, SavedTable> tables;
  std::vector<std::string> known;
  for (const SavedRows& rows : checkpoint.manifest.servers(0).tables()) known.push_back(rows.table());
  for (const std::string& name : wanted) {
    if (absl::c_linear_search(known, name)) continue;
    return absl::InvalidArgumentError(absl::StrCat("table ", name, " is not in ", checkpoint.folder));
  }
  WEIR_RETURN_IF_ERROR(server::ForEachSavedBlock(checkpoint.manifest, checkpoint.folder, [&](server::SavedBlock block) {
    if (!wanted.empty() && !absl::c_linear_search(wanted, block.table)) return absl::OkStatus();
    SavedTable& table = tables[block.table];
    if (!table.rows.keys.empty() && (table.weights != block.weights || table.slots != block.slots)) {
      return absl::DataLossError(absl::StrCat("table ", block.table, " has rows of two shapes"));
    }
    table.weights = block.weights;
    table.slots = block.slots;
    table.rows.keys.insert(table.rows.keys.end(), block.rows.keys.begin(), block.rows.keys.end());
    table.rows.values.insert(table.rows.values.end(), block.rows.values.begin(), block.rows.values.end());
    return absl::OkStatus();
  }));
  for (auto& [name, table] : tables) SortByKey(&table);
  return tables;
}

absl::StatusOr<SavedValues> ReadSavedValues(const Checkpoint& checkpoint, uint32_t rank) {
  const std::string path = absl::StrCat(checkpoint.folder, "/", checkpoint.manifest.workers(static_cast<int>(rank)).name());
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StateFileReader> reader, StateFileReader::Open(path));
  SavedValues values;
  StateFileReader::Record record;
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const bool more, reader->Next(&record));
    if (!more) break;
    values[record.name] = std::move(record.payload);
  }
  if (reader->info().checksum == checkpoint.manifest.workers(static_cast<int>(rank)).checksum()) return values;
  return absl::DataLossError(absl::StrCat(path, " is whole, but not the file that the manifest names: their checksums differ"));
}

std::vector<float> FloatsOf(absl::string_view bytes) {
  if (bytes.size() % sizeof(float) != 0) return {};
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace weir::tools
