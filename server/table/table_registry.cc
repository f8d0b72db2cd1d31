#include "server/table/table_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/job_tables.h"

namespace weir::server {
namespace {

absl::Status CheckShards(const ShardRange& shards) {
  if (shards.server_count == 0 || shards.server_count > kServersMax || shards.server_index >= shards.server_count) {
    return absl::InvalidArgumentError(absl::StrCat("server ", shards.server_index, " of ", shards.server_count,
                                                   ": cluster.servers must be 1 to ", kServersMax, ", and the index below it"));
  }
  if (shards.shard_count < shards.server_count || shards.shard_count > kShardsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster.shards is ", shards.shard_count, ": it must be cluster.servers (", shards.server_count, ") to ", kShardsMax));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TableRegistry>> TableRegistry::Create(const Job& job, uint32_t server_index, uint32_t server_count) {
  ShardRange shards;
  shards.server_index = server_index;
  shards.server_count = server_count;
  shards.shard_count = job.cluster().shards();
  WEIR_RETURN_IF_ERROR(CheckShards(shards));
  std::vector<TableSpec> specs = TablesOf(job);
  if (specs.size() > kTablesMax) return absl::InvalidArgumentError(absl::StrCat(specs.size(), " tables, at most ", kTablesMax));
  std::unique_ptr<TableRegistry> registry(new TableRegistry());
  for (TableSpec& spec : specs) {
    if (spec.dim == 0 || spec.dim > kDimMax) {
      return absl::InvalidArgumentError(absl::StrCat("table ", spec.name, ": dim is ", spec.dim, ", it must be 1 to ", kDimMax));
    }
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Table> table,
                          Table::Create(registry->size(), std::move(spec), job.seed(), shards, &registry->arena_));
    registry->tables_.push_back(std::move(table));
  }
  return registry;
}

absl::StatusOr<Table*> TableRegistry::Find(uint32_t index) const {
  if (index < tables_.size()) return tables_[index].get();
  return absl::InvalidArgumentError(absl::StrCat("no table ", index, ": this job has ", tables_.size(), ", from 0"));
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
