// The client of Weir's embedding servers: the public C++ API, and what the worker itself uses.
//
// Two levels. `Client` moves rows: keys in any order, duplicates allowed, rows and gradients in the caller's order. `EmbeddingBags`
// (embedding_bags.h) moves what a model sees: pooled vectors of a batch, and gradients of them, under any codec. Both deduplicate, route
// keys to servers by the shard map, split calls below base/limits.h kCallBytesTarget, and retry UNAVAILABLE within the deadline, with
// back-off and a bounded number of tries.
#ifndef WEIR_CLIENT_EMBEDDING_CLIENT_H_
#define WEIR_CLIENT_EMBEDDING_CLIENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "client/client_options.h"
#include "proto/data_service.pb.h"

namespace weir::client {

class ServerGroup;  // connections to all servers (client/server_group.h)

// Thread-safe.
class Client {
 public:
  // Asks every server to describe itself and checks that they belong together. Errors name the server: UNAVAILABLE (not reached within
  // call_timeout), FAILED_PRECONDITION (another job, protocol version, or server count).
  static absl::StatusOr<std::unique_ptr<Client>> Connect(ClientOptions options);
  ~Client();

  const std::vector<TableInfo>& tables() const;
  // NOT_FOUND with the known names.
  absl::StatusOr<uint32_t> TableIndex(absl::string_view name) const;

  // Writes the row of keys[i] to rows[i * dim, +dim), as they stand (no staleness bound). A key without a row answers its initial value;
  // `initial`, when given, gets how many distinct keys did. REQUIRES: rows.size() == keys.size() * dim.
  absl::Status Lookup(uint32_t table, absl::Span<const Key> keys, absl::Span<float> rows, uint64_t* initial = nullptr);

  // Pushes gradients (keys.size() x dim) as step `step` of this worker: duplicates are summed. Every worker of a synchronous job pushes
  // each step exactly once. `refused`, when given, gets the rows that the servers left out because they were not finite.
  absl::Status Push(int64_t step, uint32_t samples, uint32_t table, absl::Span<const Key> keys, absl::Span<const float> gradients,
                    std::vector<KeyStatus>* refused = nullptr);

  ServerGroup& servers() { return *servers_; }

 private:
  explicit Client(std::unique_ptr<ServerGroup> servers);
  const std::unique_ptr<ServerGroup> servers_;
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_EMBEDDING_CLIENT_H_
