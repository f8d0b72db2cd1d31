// Connections to all servers of a job, and what they say about themselves.
#ifndef WEIR_CLIENT_SERVER_GROUP_H_
#define WEIR_CLIENT_SERVER_GROUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client_options.h"
#include "client/key_router.h"
#include "proto/data_service.pb.h"
#include "proto/row_initializer.h"
#include "proto/shard_map.h"

namespace weir::client {

struct ServerConnection;

// Thread-safe but for Follow. Outlives every PendingCalls made with it.
class ServerGroup {
 public:
  // As Client::Connect.
  static absl::StatusOr<std::unique_ptr<ServerGroup>> Connect(ClientOptions options);
  ~ServerGroup();

  // From now on the job's servers are these, and own what `map` says. Who stays keeps its connections. Errors as Connect's, and the group
  // is unusable then. REQUIRES: no call is under way, and nobody else uses the group meanwhile.
  absl::Status Follow(const ShardMap& map, const std::vector<std::string>& servers);

  uint32_t size() const { return static_cast<uint32_t>(connections_.size()); }
  // REQUIRES: server < size().
  const ServerConnection& connection(uint32_t server) const { return *connections_[server]; }
  const std::string& NameOf(uint32_t server) const;  // "server 1 at 127.0.0.1:4000"

  // As the servers describe them; job_hash and incarnation of the options are set.
  const ClientOptions& options() const { return options_; }
  const ShardMap& shard_map() const { return shard_map_; }
  const std::vector<TableInfo>& tables() const { return tables_; }
  // How rows of a table begin; null: the servers do not tell. REQUIRES: table < tables().size().
  const RowInitializer* initializer(uint32_t table) const { return initializers_[table].get(); }

 private:
  explicit ServerGroup(ClientOptions options);
  void Connect(uint32_t server, const std::string& address);
  // Asks servers from this one on who they are.
  absl::Status DescribeFrom(uint32_t first);
  absl::Status CheckReply(uint32_t server, const DescribeReply& reply);

  ClientOptions options_;  // constant after Connect or Follow, as all below
  std::vector<std::unique_ptr<ServerConnection>> connections_;
  ShardMap shard_map_;
  std::vector<TableInfo> tables_;
  std::vector<std::unique_ptr<RowInitializer>> initializers_;  // of each table
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_SERVER_GROUP_H_
