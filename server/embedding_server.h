// An embedding server: the tables of one server index, their training steps, and the data service that serves them.
#ifndef WEIR_SERVER_EMBEDDING_SERVER_H_
#define WEIR_SERVER_EMBEDDING_SERVER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "grpcpp/impl/service_type.h"
#include "proto/data_service.pb.h"
#include "server/service/data_plane.h"

namespace weir::server {

// Thread-safe. Outlives the endpoint that serves it.
class EmbeddingServer {
 public:
  EmbeddingServer();
  ~EmbeddingServer();

  // The data service. It can be listened for before Start: every call is answered UNAVAILABLE until then.
  grpc::Service* service();
  // Saves the tables into checkpoints; likewise.
  grpc::Service* checkpoint_service();
  // Moves shards from and to other servers; likewise.
  grpc::Service* shard_service();

  // Builds the tables, with the rows of a checkpoint where there is one, and serves from now on. Call once. INVALID_ARGUMENT: a job, or a
  // place in it, that no server can serve. Errors of the checkpoint's files name them.
  absl::Status Start(const EmbeddingServerOptions& options);
  // Answers the lookups that wait, and every later call, with UNAVAILABLE. Idempotent.
  void Stop();

  // REQUIRES: Start has succeeded. They walk over all rows.
  DescribeReply Describe() const;
  uint64_t Fingerprint() const;
  uint64_t rows() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_EMBEDDING_SERVER_H_
