// Who belongs to the job, and who has been heard of lately.
#ifndef WEIR_SERVER_COORDINATOR_MEMBERSHIP_H_
#define WEIR_SERVER_COORDINATOR_MEMBERSHIP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "proto/control_service.pb.h"

namespace weir::server {

struct Member {
  Role role = ROLE_UNSPECIFIED;
  uint32_t index = 0;
  std::string address;
  int64_t pid = 0;
  uint64_t incarnation = 0;
  absl::Time heard;   // registered, or last heartbeat
  bool told = false;  // to leave or to abort
  bool left = false;
  bool retired = false;  // a server that the job does not need any more: it may leave

  std::string Describe() const;  // "server 1 at 127.0.0.1:4000 (pid 77)"
};

// Thread-compatible.
class Membership {
 public:
  struct Places {
    uint32_t servers = 0;
    uint32_t workers = 0;
  };
  explicit Membership(Places places) : places_(places) {}

  // Gives the next free index of the role, or to a server that rejoins its old one; the same incarnation gets its index again.
  // INVALID_ARGUMENT: no such role. FAILED_PRECONDITION: another protocol version, no place left, or none to rejoin.
  absl::StatusOr<uint32_t> Register(const RegisterRequest& request, absl::Time now);

  // The job gets this many places for servers. Those of higher index retire, and their places are free once they have left.
  void SetServerPlaces(uint32_t servers);
  uint32_t server_places() const { return places_.servers; }
  // A retired server that has not left yet; null: none.
  const Member* Retiring() const;
  // Every place has a server.
  bool HasAllServers() const;

  // The member that calls itself so. FAILED_PRECONDITION: nobody, or another incarnation. Pointers stay valid until the next Register.
  struct Name {
    Role role = ROLE_UNSPECIFIED;
    uint32_t index = 0;
    uint64_t incarnation = 0;
  };
  absl::StatusOr<Member*> Find(const Name& name);
  // INVALID_ARGUMENT: no worker of this rank has registered.
  absl::Status CheckWorker(uint32_t rank) const;

  // The member, still in the job, that has been silent for longest and for at least `limit`; null: none.
  const Member* Silent(absl::Time now, absl::Duration limit) const;

  absl::Span<const Member> servers() const { return servers_; }
  absl::Span<const Member> workers() const { return workers_; }
  bool complete() const { return HasAllServers() && workers_.size() == places_.workers; }
  std::string Waiting() const;  // "1 of 2 servers and 0 of 2 workers have registered"
  bool AllWorkersLeft() const;
  bool AllServersLeft() const;
  // Everybody who is still in the job has been told to leave or abort.
  bool AllTold() const;

 private:
  absl::StatusOr<uint32_t> Rejoin(const RegisterRequest& request, absl::Time now);

  Places places_;
  std::vector<Member> servers_;  // by index
  std::vector<Member> workers_;  // by rank
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_MEMBERSHIP_H_
