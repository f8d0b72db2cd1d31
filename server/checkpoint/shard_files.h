// The rows of a server as a file of a checkpoint (base/state_file.h): a record for each shard of each table that has rows, named by the
// table, with
//
//   u32 weights and u32 slots of a row, in floats; u64 rows; the keys; for each row its weights, then its slots. Little-endian.
//
// Shards are not named: who restores takes the rows that it owns, whatever the number of servers and shards was.
#ifndef WEIR_SERVER_CHECKPOINT_SHARD_FILES_H_
#define WEIR_SERVER_CHECKPOINT_SHARD_FILES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "proto/checkpoint.pb.h"
#include "server/table/table_registry.h"

namespace weir::server {

// Saves what FreezeShards has frozen, while rows go on being applied. Memory: one shard of one table, and each row that changes before its
// shard is copied. Errors (disk full, read-only folder) name the path. After either nothing is frozen.
void FreezeShards(const TableRegistry& tables);
absl::StatusOr<SavedShards> SaveShards(const TableRegistry& tables, const std::string& path);

// What a record holds of these rows of a table: row_floats() values for each key.
std::string SerializeRows(const Table& table, absl::Span<const Key> keys, absl::Span<const float> values);
// The rows of a record. DATA_LOSS: the bytes are none; FAILED_PRECONDITION: rows of another shape than the table's.
absl::StatusOr<RowBatch> ParseRows(const Table& table, absl::string_view payload);

// A record.
struct SavedBlock {
  std::string table;
  uint32_t weights = 0;  // of a row, in floats
  uint32_t slots = 0;
  RowBatch rows;
};

// Gives `visit` every record of all server files, in order; stops at its first error. Memory: one record. DATA_LOSS: a file is damaged, or
// not the one that was saved. All errors name file and record.
absl::Status ForEachSavedBlock(const CheckpointManifest& manifest, const std::string& folder,
                               const std::function<absl::Status(SavedBlock)>& visit);

// Takes from all server files of a checkpoint the rows that `tables` own. DATA_LOSS: a file is damaged, or not the one that was saved;
// FAILED_PRECONDITION: a table of another shape. Both name file and record.
absl::Status RestoreShards(const CheckpointManifest& manifest, const std::string& folder, const TableRegistry& tables);

}  // namespace weir::server

#endif  // WEIR_SERVER_CHECKPOINT_SHARD_FILES_H_
