// Takes pushes: checks the request, finds its keys, sets rows that are not finite apart and hands the rest to the training steps.
#ifndef WEIR_SERVER_SERVICE_PUSH_HANDLER_H_
#define WEIR_SERVER_SERVICE_PUSH_HANDLER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/data_service.pb.h"
#include "server/service/call_keys.h"
#include "server/service/ticket_store.h"
#include "server/table/table_registry.h"
#include "server/table/training_steps.h"

namespace weir::server {

// Thread-safe.
class PushHandler {
 public:
  // What it works on outlives it.
  PushHandler(uint64_t job_hash, const TableRegistry* tables, TrainingSteps* steps, TicketStore* tickets)
      : job_hash_(job_hash), tables_(tables), steps_(steps), tickets_(tickets) {}

  // Fills the reply and returns what to call after it was sent: the lookups that the push has let through. On an error nothing was
  // applied or recorded. A row whose pushed values are all exactly zero is not updated, does not age and is not created, whatever the
  // codec; so is a row that is not finite, which the reply names.
  absl::StatusOr<std::vector<std::function<void()>>> Push(const PushRequest& request, PushReply* reply) const;

 private:
  absl::StatusOr<std::vector<GradientRows>> DecodeWithKeys(const PushRequest& request) const;
  absl::StatusOr<std::vector<GradientRows>> DecodeWithTicket(const PushRequest& request, const Ticket& ticket) const;
  absl::StatusOr<std::vector<GradientRows>> DecodePooled(const PushRequest& request, const Ticket& ticket) const;
  void DropUnusable(std::vector<GradientRows>* tables, PushReply* reply) const;

  const uint64_t job_hash_;
  const TableRegistry* const tables_;
  TrainingSteps* const steps_;
  TicketStore* const tickets_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_PUSH_HANDLER_H_
