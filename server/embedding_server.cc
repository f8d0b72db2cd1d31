#include "server/embedding_server.h"

#include "base/status_macros.h"
#include "server/service/grpc_checkpoint_service.h"
#include "server/service/grpc_data_service.h"
#include "server/service/grpc_shard_service.h"

namespace weir::server {

class EmbeddingServer::State {
 public:
  std::unique_ptr<DataPlane> plane;
  GrpcDataService service;
  GrpcCheckpointService checkpoint_service;
  GrpcShardService shard_service;
};

EmbeddingServer::EmbeddingServer() : state_(std::make_unique<State>()) {}
EmbeddingServer::~EmbeddingServer() { Stop(); }

grpc::Service* EmbeddingServer::service() { return &state_->service; }
grpc::Service* EmbeddingServer::checkpoint_service() { return &state_->checkpoint_service; }
grpc::Service* EmbeddingServer::shard_service() { return &state_->shard_service; }

absl::Status EmbeddingServer::Start(const EmbeddingServerOptions& options) {
  WEIR_ASSIGN_OR_RETURN(state_->plane, DataPlane::Create(options));
  state_->service.Attach(state_->plane.get());
  state_->checkpoint_service.Attach(state_->plane.get());
  state_->shard_service.Attach(state_->plane.get());
  return absl::OkStatus();
}

void EmbeddingServer::Stop() {
  state_->service.Attach(nullptr);
  state_->checkpoint_service.Attach(nullptr);
  state_->shard_service.Attach(nullptr);
  if (state_->plane != nullptr) state_->plane->Stop();
}

DescribeReply EmbeddingServer::Describe() const { return state_->plane->Describe(); }
uint64_t EmbeddingServer::Fingerprint() const { return state_->plane->tables().Fingerprint(); }
uint64_t EmbeddingServer::rows() const { return state_->plane->tables().rows(); }

}  // namespace weir::server
