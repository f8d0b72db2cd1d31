// Barriers by name: each is passed once, when every worker has arrived.
#ifndef WEIR_SERVER_COORDINATOR_BARRIERS_H_
#define WEIR_SERVER_COORDINATOR_BARRIERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/control_service.pb.h"
#include "server/coordinator/waiting_call.h"

namespace weir::server {

inline constexpr size_t kBarriersMax = 65536;
inline constexpr size_t kBarrierNameBytesMax = 256;

// Thread-compatible.
class Barriers {
 public:
  explicit Barriers(uint32_t workers) : workers_(workers) {}

  // Answers `call` once every worker has arrived; at once where they all have before. A worker that arrives again (a retry) counts once.
  // REQUIRES: worker_rank < workers.
  void Arrive(const BarrierRequest& request, WaitingCall call, Answers* answers);

  // Answers the calls whose deadline has passed; DEADLINE_EXCEEDED names the ranks that have not arrived.
  void Expire(absl::Time now, Answers* answers);
  void FailAll(const absl::Status& status, Answers* answers);

 private:
  struct Barrier {
    std::vector<bool> arrived;  // by rank
    uint32_t missing = 0;
    std::vector<WaitingCall> waiting;
  };
  absl::Status Refusal(const BarrierRequest& request) const;

  const uint32_t workers_;
  size_t waiting_ = 0;  // of all barriers
  absl::flat_hash_map<std::string, Barrier> barriers_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_BARRIERS_H_
