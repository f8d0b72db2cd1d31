#include "client/server_group.h"

#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/grpc_endpoint.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "client/pending_calls.h"
#include "client/server_connection.h"

namespace weir::client {
namespace {

uint64_t RandomIncarnation() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) | 1;
}

absl::StatusOr<std::vector<TableInfo>> TablesFrom(const DescribeReply& reply, const std::string& name) {
  if (reply.tables_size() > static_cast<int>(kTablesMax)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": has ", reply.tables_size(), " tables, at most ", kTablesMax, " are allowed"));
  }
  std::vector<TableInfo> tables;
  for (const TableDescription& table : reply.tables()) {
    if (table.dim() == 0 || table.dim() > kDimMax) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": table ", table.name(), " has ", table.dim(), " columns, not 1 to ", kDimMax));
    }
    tables.push_back({table.name(), table.dim()});
  }
  return tables;
}

bool SameTables(const std::vector<TableInfo>& a, const std::vector<TableInfo>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].dim != b[i].dim) return false;
  }
  return true;
}

}  // namespace

ServerGroup::ServerGroup(ClientOptions options) : options_(std::move(options)) {
  if (options_.incarnation == 0) options_.incarnation = RandomIncarnation();
  for (size_t i = 0; i < options_.servers.size(); ++i) {
    auto connection = std::make_unique<ServerConnection>();
    connection->name = absl::StrCat("server ", i, " at ", options_.servers[i]);
    connection->lookup = DataService::NewStub(OpenChannel(options_.servers[i], Edge::kLookup));
    connection->push = DataService::NewStub(OpenChannel(options_.servers[i], Edge::kPush));
    connections_.push_back(std::move(connection));
  }
}

ServerGroup::~ServerGroup() = default;

const std::string& ServerGroup::NameOf(uint32_t server) const { return connections_[server]->name; }

absl::StatusOr<std::unique_ptr<ServerGroup>> ServerGroup::Connect(ClientOptions options) {
  if (options.servers.empty() || options.servers.size() > kServersMax) {
    return absl::InvalidArgumentError(absl::StrCat("a client needs 1 to ", kServersMax, " server addresses, not ", options.servers.size()));
  }
  std::unique_ptr<ServerGroup> group(new ServerGroup(std::move(options)));
  WEIR_RETURN_IF_ERROR(group->DescribeAll());
  return group;
}

absl::Status ServerGroup::DescribeAll() {
  DescribeCalls calls(this);
  for (uint32_t server = 0; server < size(); ++server) calls.Start(server, DescribeRequest());
  absl::Status status = calls.Wait();
  if (absl::IsDeadlineExceeded(status)) {
    // Describe itself waits for nothing, so the time went into connecting.
    return absl::UnavailableError(absl::StrCat(status.message(), ": not reached within ", absl::FormatDuration(options_.call_timeout),
                                               "; is it running, and is the address right?"));
  }
  WEIR_RETURN_IF_ERROR(status);
  for (uint32_t server = 0; server < size(); ++server) WEIR_RETURN_IF_ERROR(CheckReply(server, calls.reply(server)));
  return absl::OkStatus();
}

absl::Status ServerGroup::CheckReply(uint32_t server, const DescribeReply& reply) {
  const std::string& name = connections_[server]->name;
  if (reply.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": speaks protocol version ", reply.protocol_version(), ", this client ",
                                                      kProtocolVersion, "; use the same release on both sides"));
  }
  if (reply.server_count() != size() || reply.server_index() != server) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": is server ", reply.server_index(), " of ", reply.server_count(),
                                                      ", expected ", server, " of ", size(), "; list all servers, in index order"));
  }
  if (reply.shard_count() < reply.server_count() || reply.shard_count() > kShardsMax) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": has ", reply.shard_count(), " shards, not ", size(), " to ", kShardsMax));
  }
  if (options_.job_hash == 0) options_.job_hash = reply.job_hash();
  if (reply.job_hash() != options_.job_hash) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: runs another job (hash %016x, expected %016x); start it with the same job file", name, reply.job_hash(), options_.job_hash));
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<TableInfo> tables, TablesFrom(reply, name));
  if (server == 0) {
    shard_map_ = {reply.shard_count(), reply.server_count()};
    tables_ = std::move(tables);
    for (uint32_t table = 0; table < tables_.size(); ++table) {
      auto initializer = MakeRowInitializer(reply.tables(static_cast<int>(table)).initializer(), {reply.seed(), table});
      initializers_.push_back(initializer.ok() ? *std::move(initializer) : nullptr);
    }
  } else if (reply.shard_count() != shard_map_.shard_count || !SameTables(tables, tables_)) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": its shards or tables differ from those of ", connections_[0]->name));
  }
  return absl::OkStatus();
}

}  // namespace weir::client
