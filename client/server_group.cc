#include "client/server_group.h"

#include <algorithm>
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
  for (uint32_t i = 0; i < options_.servers.size(); ++i) Connect(i, options_.servers[i]);
}

void ServerGroup::Connect(uint32_t server, const std::string& address) {
  auto connection = std::make_unique<ServerConnection>();
  connection->name = absl::StrCat("server ", server, " at ", address);
  connection->lookup = DataService::NewStub(OpenChannel(address, Edge::kLookup));
  connection->push = DataService::NewStub(OpenChannel(address, Edge::kPush));
  connections_.resize(std::max<size_t>(connections_.size(), server + 1));
  connections_[server] = std::move(connection);
}

absl::Status ServerGroup::Follow(const ShardMap& map, const std::vector<std::string>& servers) {
  WEIR_RETURN_IF_ERROR(CheckShardMap(map));
  if (servers.size() != ServersOf(map)) {
    return absl::InvalidArgumentError(absl::StrCat(servers.size(), " server addresses for a shard map (", ToString(map), ")"));
  }
  const auto same = static_cast<uint32_t>(
      std::mismatch(options_.servers.begin(), options_.servers.end(), servers.begin(), servers.end()).first - options_.servers.begin());
  connections_.resize(same);
  options_.servers = servers;
  shard_map_ = map;
  for (uint32_t server = same; server < servers.size(); ++server) Connect(server, servers[server]);
  return DescribeFrom(same);
}

ServerGroup::~ServerGroup() = default;

const std::string& ServerGroup::NameOf(uint32_t server) const { return connections_[server]->name; }

absl::StatusOr<std::unique_ptr<ServerGroup>> ServerGroup::Connect(ClientOptions options) {
  if (options.servers.empty() || options.servers.size() > kServersMax) {
    return absl::InvalidArgumentError(absl::StrCat("a client needs 1 to ", kServersMax, " server addresses, not ", options.servers.size()));
  }
  std::unique_ptr<ServerGroup> group(new ServerGroup(std::move(options)));
  WEIR_RETURN_IF_ERROR(group->DescribeFrom(0));
  return group;
}

absl::Status ServerGroup::DescribeFrom(uint32_t first) {
  DescribeCalls calls(this);
  for (uint32_t server = first; server < size(); ++server) calls.Start(server, DescribeRequest());
  absl::Status status = calls.Wait();
  if (absl::IsDeadlineExceeded(status)) {
    // Describe itself waits for nothing, so the time went into connecting.
    return absl::UnavailableError(absl::StrCat(status.message(), ": not reached within ", absl::FormatDuration(options_.call_timeout),
                                               "; is it running, and is the address right?"));
  }
  WEIR_RETURN_IF_ERROR(status);
  for (uint32_t server = first; server < size(); ++server) WEIR_RETURN_IF_ERROR(CheckReply(server, calls.reply(server - first)));
  return absl::OkStatus();
}

absl::Status ServerGroup::CheckReply(uint32_t server, const DescribeReply& reply) {
  const std::string& name = connections_[server]->name;
  if (reply.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": speaks protocol version ", reply.protocol_version(), ", this client ",
                                                      kProtocolVersion, "; use the same release on both sides"));
  }
  if (const absl::Status status = CheckShardMap(reply.shard_map()); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
  }
  if (ServersOf(reply.shard_map()) != size() || reply.server_index() != server) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": is server ", reply.server_index(), " of ", ServersOf(reply.shard_map()),
                                                      ", expected ", server, " of ", size(), "; list all servers, in index order"));
  }
  if (options_.job_hash == 0) options_.job_hash = reply.job_hash();
  if (reply.job_hash() != options_.job_hash) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: runs another job (hash %016x, expected %016x); start it with the same job file", name, reply.job_hash(), options_.job_hash));
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<TableInfo> tables, TablesFrom(reply, name));
  if (tables_.empty() && server == 0) {
    shard_map_ = reply.shard_map();
    tables_ = std::move(tables);
    for (uint32_t table = 0; table < tables_.size(); ++table) {
      auto initializer = MakeRowInitializer(reply.tables(static_cast<int>(table)).initializer(), {reply.seed(), table});
      initializers_.push_back(initializer.ok() ? *std::move(initializer) : nullptr);
    }
  } else if (!SameShardMap(reply.shard_map(), shard_map_) || !SameTables(tables, tables_)) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": its tables, or its shard map (", ToString(reply.shard_map()),
                                                      "), are not those of the others (", ToString(shard_map_), ")"));
  }
  return absl::OkStatus();
}

}  // namespace weir::client
