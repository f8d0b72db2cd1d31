// What a training lookup leaves for its push, so that keys, bags and masks are sent once.
#ifndef WEIR_SERVER_SERVICE_TICKET_STORE_H_
#define WEIR_SERVER_SERVICE_TICKET_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/service/call_keys.h"
#include "server/service/sample_scope.h"
#include "server/table/push_part.h"

namespace weir::server {

struct Ticket {
  std::vector<CallKeys> tables;
  std::optional<SampleScope> scope;  // of a pooled reply
  std::optional<LookupReply> reply;  // of changes: the same lookup, come again, must get it again
};

// A ticket lives until its push is accepted, its worker is `steps_kept` steps further, or another incarnation of the worker takes one.
// Thread-safe.
class TicketStore {
 public:
  TicketStore(uint32_t workers, int64_t steps_kept) : steps_kept_(steps_kept), workers_(workers) {}

  // Replaces the ticket of the same id. RESOURCE_EXHAUSTED: the worker has kTicketsPerWorkerMax. REQUIRES: a rank below `workers`.
  absl::Status Put(const PartId& id, std::shared_ptr<const Ticket> ticket);
  // Null when there is none.
  std::shared_ptr<const Ticket> Find(const PartId& id) const;
  void Drop(const PartId& id);

 private:
  using StepPart = std::pair<int64_t, uint32_t>;
  using Tickets = std::map<StepPart, std::shared_ptr<const Ticket>>;
  struct Worker {
    uint64_t incarnation = 0;
    Tickets tickets;
  };

  const int64_t steps_kept_;
  mutable Mutex mu_;
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);  // by rank
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_TICKET_STORE_H_
