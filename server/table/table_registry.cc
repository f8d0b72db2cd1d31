#include "server/table/table_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/job_tables.h"
#include "proto/shard_map.h"

namespace weir::server {

absl::StatusOr<std::unique_ptr<TableRegistry>> TableRegistry::Create(const Job& job, uint32_t server_index, uint32_t server_count) {
  if (server_index >= server_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("server ", server_index, " of ", server_count, ": the index must be below cluster.servers"));
  }
  return Create(job, ShardPlace{server_index, MakeShardMap(job.cluster().shards(), server_count)});
}

absl::StatusOr<std::unique_ptr<TableRegistry>> TableRegistry::Create(const Job& job, const ShardPlace& place) {
  WEIR_RETURN_IF_ERROR(CheckShardMap(place.map));
  std::vector<TableSpec> specs = TablesOf(job);
  if (specs.size() > kTablesMax) return absl::InvalidArgumentError(absl::StrCat(specs.size(), " tables, at most ", kTablesMax));
  std::unique_ptr<TableRegistry> registry(new TableRegistry());
  for (TableSpec& spec : specs) {
    if (spec.dim == 0 || spec.dim > kDimMax) {
      return absl::InvalidArgumentError(absl::StrCat("table ", spec.name, ": dim is ", spec.dim, ", it must be 1 to ", kDimMax));
    }
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Table> table,
                          Table::Create(registry->size(), std::move(spec), job.seed(), place, &registry->arena_));
    registry->tables_.push_back(std::move(table));
  }
  return registry;
}

absl::StatusOr<Table*> TableRegistry::Find(uint32_t index) const {
  if (index < tables_.size()) return tables_[index].get();
  return absl::InvalidArgumentError(absl::StrCat("no table ", index, ": this job has ", tables_.size(), ", from 0"));
}

void TableRegistry::GainShards(const ShardMap& map) {
  for (const std::unique_ptr<Table>& table : tables_) table->GainShards(map);
}

void TableRegistry::DropShards(const ShardMap& map) {
  for (const std::unique_ptr<Table>& table : tables_) table->DropShards(map);
}

uint64_t TableRegistry::rows() const {
  uint64_t rows = 0;
  for (const std::unique_ptr<Table>& table : tables_) rows += table->Size().rows;
  return rows;
}

uint64_t TableRegistry::Fingerprint() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<Table>& table : tables_) sum += table->Fingerprint();
  return sum;
}

}  // namespace weir::server
