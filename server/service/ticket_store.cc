#include "server/service/ticket_store.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace weir::server {

absl::Status TicketStore::Put(const PartId& id, std::shared_ptr<const Ticket> ticket) {
  Tickets dropped;  // freed without the lock
  MutexLock lock(&mu_);
  Worker& worker = workers_[id.worker_rank];
  if (worker.incarnation != id.incarnation) {
    dropped.swap(worker.tickets);
    worker.incarnation = id.incarnation;
  }
  while (!worker.tickets.empty() && worker.tickets.begin()->first.first < id.step - steps_kept_) {
    dropped.insert(worker.tickets.extract(worker.tickets.begin()));
  }
  std::shared_ptr<const Ticket>& place = worker.tickets[{id.step, id.part}];
  if (worker.tickets.size() > kTicketsPerWorkerMax) {
    worker.tickets.erase({id.step, id.part});
    return absl::ResourceExhaustedError(
        absl::StrCat("worker ", id.worker_rank, " has ", kTicketsPerWorkerMax, " lookups without their push: push before looking up more"));
  }
  place.swap(ticket);
  return absl::OkStatus();
}

std::shared_ptr<const Ticket> TicketStore::Find(const PartId& id) const {
  MutexLock lock(&mu_);
  const Worker& worker = workers_[id.worker_rank];
  if (worker.incarnation != id.incarnation) return nullptr;
  const auto it = worker.tickets.find({id.step, id.part});
  return it == worker.tickets.end() ? nullptr : it->second;
}

void TicketStore::Drop(const PartId& id) {
  std::shared_ptr<const Ticket> dropped;  // freed without the lock
  MutexLock lock(&mu_);
  Worker& worker = workers_[id.worker_rank];
  if (worker.incarnation != id.incarnation) return;
  const auto it = worker.tickets.find({id.step, id.part});
  if (it == worker.tickets.end()) return;
  dropped.swap(it->second);
  worker.tickets.erase(it);
}

}  // namespace weir::server
