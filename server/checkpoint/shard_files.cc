#include "server/checkpoint/shard_files.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/state_file.h"
#include "base/status_macros.h"

namespace weir::server {
namespace {

struct RecordHead {
  uint32_t weights = 0;
  uint32_t slots = 0;
  uint64_t rows = 0;
};
static_assert(sizeof(RecordHead) == 16);

absl::Status ParseRecord(absl::string_view payload, SavedBlock* block) {
  RecordHead head;
  if (payload.size() < sizeof(head)) return absl::DataLossError("the record is too short");
  std::memcpy(&head, payload.data(), sizeof(head));
  const size_t row_floats = size_t{head.weights} + head.slots;
  const size_t row_bytes = sizeof(Key) + row_floats * sizeof(float);
  const size_t bytes = payload.size() - sizeof(head);
  if (bytes % row_bytes != 0 || bytes / row_bytes != head.rows) return absl::DataLossError("the record has no whole number of rows");
  block->weights = head.weights;
  block->slots = head.slots;
  block->rows.keys.resize(head.rows);
  block->rows.values.resize(head.rows * row_floats);
  if (head.rows == 0) return absl::OkStatus();
  const char* const keys = payload.data() + sizeof(head);
  std::memcpy(block->rows.keys.data(), keys, head.rows * sizeof(Key));
  std::memcpy(block->rows.values.data(), keys + head.rows * sizeof(Key), block->rows.values.size() * sizeof(float));
  return absl::OkStatus();
}

absl::Status ForEachBlockOf(const std::string& path, const SavedFile& saved, const std::function<absl::Status(SavedBlock)>& visit) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StateFileReader> reader, StateFileReader::Open(path));
  StateFileReader::Record record;
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const bool more, reader->Next(&record));
    if (!more) break;
    SavedBlock block;
    block.table = record.name;
    absl::Status status = ParseRecord(record.payload, &block);
    if (status.ok()) status = visit(std::move(block));
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(path, ", table ", record.name, ": ", status.message()));
  }
  if (reader->info().checksum == saved.checksum()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " is whole, but not the file that the manifest names: their checksums differ"));
}

absl::Status CheckShape(const Table& table, const SavedBlock& block) {
  if (block.weights == table.dim() && uint64_t{block.weights} + block.slots == table.row_floats()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("rows of ", block.weights, " weights and ", block.slots, " slots, but this job has ",
                                                    table.dim(), " and ", table.row_floats() - table.dim()));
}

}  // namespace

std::string SerializeRows(const Table& table, absl::Span<const Key> keys, absl::Span<const float> values) {
  const RecordHead head = {table.dim(), table.row_floats() - table.dim(), keys.size()};
  const size_t key_bytes = keys.size() * sizeof(Key), value_bytes = values.size() * sizeof(float);
  std::string payload(sizeof(head) + key_bytes + value_bytes, '\0');
  char* out = payload.data();
  std::memcpy(out, &head, sizeof(head));
  if (keys.empty()) return payload;
  std::memcpy(out + sizeof(head), keys.data(), key_bytes);
  std::memcpy(out + sizeof(head) + key_bytes, values.data(), value_bytes);
  return payload;
}

absl::StatusOr<RowBatch> ParseRows(const Table& table, absl::string_view payload) {
  SavedBlock block;
  WEIR_RETURN_IF_ERROR(ParseRecord(payload, &block));
  WEIR_RETURN_IF_ERROR(CheckShape(table, block));
  return std::move(block.rows);
}

void FreezeShards(const TableRegistry& tables) {
  for (uint32_t index = 0; index < tables.size(); ++index) tables.at(index).Freeze();
}

absl::StatusOr<SavedShards> SaveShards(const TableRegistry& tables, const std::string& path) {
  const absl::Cleanup thaw = [&tables] {
    for (uint32_t index = 0; index < tables.size(); ++index) tables.at(index).Thaw();
  };
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StateFileWriter> file, StateFileWriter::Create(path));
  SavedShards saved;
  RowBatch rows;
  for (uint32_t index = 0; index < tables.size(); ++index) {
    Table& table = tables.at(index);
    uint64_t table_rows = 0;
    for (uint32_t shard = 0; shard < table.shard_count(); ++shard) {
      table.CopyShard(shard, &rows);
      if (rows.keys.empty()) continue;
      table_rows += rows.keys.size();
      WEIR_RETURN_IF_ERROR(file->Add(table.spec().name, SerializeRows(table, rows.keys, rows.values)));
    }
    SavedRows* const of_table = saved.add_tables();
    of_table->set_table(table.spec().name);
    of_table->set_rows(table_rows);
  }
  WEIR_ASSIGN_OR_RETURN(const StateFileInfo info, file->Finish());
  saved.mutable_file()->set_name(std::filesystem::path(path).filename().string());
  saved.mutable_file()->set_bytes(info.bytes);
  saved.mutable_file()->set_checksum(info.checksum);
  return saved;
}

absl::Status ForEachSavedBlock(const CheckpointManifest& manifest, const std::string& folder,
                               const std::function<absl::Status(SavedBlock)>& visit) {
  for (const SavedShards& saved : manifest.servers()) {
    WEIR_RETURN_IF_ERROR(ForEachBlockOf(absl::StrCat(folder, "/", saved.file().name()), saved.file(), visit));
  }
  return absl::OkStatus();
}

absl::Status RestoreShards(const CheckpointManifest& manifest, const std::string& folder, const TableRegistry& tables) {
  absl::flat_hash_map<std::string, Table*> by_name;
  for (uint32_t index = 0; index < tables.size(); ++index) by_name[tables.at(index).spec().name] = &tables.at(index);
  return ForEachSavedBlock(manifest, folder, [&by_name](SavedBlock block) {
    const auto found = by_name.find(block.table);
    if (found == by_name.end()) return absl::FailedPreconditionError("this job has no such table");
    Table& table = *found->second;
    WEIR_RETURN_IF_ERROR(CheckShape(table, block));
    table.RestoreRows(block.rows);
    return absl::OkStatus();
  });
}

}  // namespace weir::server
