// The tables of one server.
#ifndef WEIR_SERVER_TABLE_TABLE_REGISTRY_H_
#define WEIR_SERVER_TABLE_TABLE_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"

namespace weir::server {

// The set of tables is constant; thread-safe as they are.
class TableRegistry {
 public:
  // INVALID_ARGUMENT: a limit of base/limits.h, fewer shards than servers, or settings that nothing knows.
  static absl::StatusOr<std::unique_ptr<TableRegistry>> Create(const Job& job, const ShardPlace& place);
  // Where the number of servers does not change; INVALID_ARGUMENT also for an index that is not below it.
  static absl::StatusOr<std::unique_ptr<TableRegistry>> Create(const Job& job, uint32_t server_index, uint32_t server_count);

  uint32_t size() const { return static_cast<uint32_t>(tables_.size()); }
  Table& at(uint32_t index) const { return *tables_[index]; }
  // INVALID_ARGUMENT: no table has this index.
  absl::StatusOr<Table*> Find(uint32_t index) const;

  // Of all tables, as Table says.
  void GainShards(const ShardMap& map);
  void DropShards(const ShardMap& map);

  uint64_t rows() const;
  uint64_t Fingerprint() const;

 private:
  TableRegistry() = default;

  SlabArena arena_;  // before the tables, which use it
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_TABLE_REGISTRY_H_
