#include "server/service/push_handler.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

PartId IdOf(const PushRequest& request) {
  PartId id;
  id.worker_rank = request.worker_rank();
  id.incarnation = request.incarnation();
  id.step = request.step();
  id.part = request.part();
  return id;
}

// REQUIRES: the entries are within CallBudget.
absl::StatusOr<GradientRows> DecodeRows(CallKeys keys, absl::string_view frame) {
  GradientRows rows;
  rows.table = keys.table->index();
  rows.distinct = keys.distinct;
  rows.gradients.resize(keys.entries());
  rows.keys = std::move(keys.keys);
  const absl::Status decoded = compression::DecodeInto(frame, absl::MakeSpan(rows.gradients));
  if (decoded.ok()) return rows;
  return absl::InvalidArgumentError(absl::StrCat("table ", keys.table->spec().name, ", frame of ", rows.keys.size(), " keys x dim ",
                                                 keys.table->dim(), ": ", decoded.message()));
}

const CallKeys* FindKeys(const Ticket& ticket, const Table* table) {
  for (const CallKeys& keys : ticket.tables) {
    if (keys.table == table) return &keys;
  }
  return nullptr;
}

absl::Status CheckSamples(uint32_t samples) {
  if (samples <= kSamplesPerCallMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("samples: ", samples, ", at most ", kSamplesPerCallMax));
}

}  // namespace

absl::StatusOr<std::vector<std::function<void()>>> PushHandler::Push(const PushRequest& request, PushReply* reply) const {
  WEIR_RETURN_IF_ERROR(CheckJobHash(request.job_hash(), job_hash_));
  PushPart part;
  part.id = IdOf(request);
  part.parts = request.parts();
  part.samples = request.samples();
  WEIR_RETURN_IF_ERROR(steps_->CheckId(part.id, part.parts));
  WEIR_RETURN_IF_ERROR(CheckSamples(part.samples));
  // In this order: a copy of this push that is accepted in between takes the ticket away, and is seen then.
  const std::shared_ptr<const Ticket> ticket = request.ticket() ? tickets_->Find(part.id) : nullptr;
  if (steps_->Seen(part.id)) {
    reply->set_outcome(PushReply::OUTCOME_DUPLICATE);
    return std::vector<std::function<void()>>();
  }
  if (request.ticket() && ticket == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("ticket: this server holds no lookup of ", ToString(part.id), "; push it again with keys"));
  }
  WEIR_ASSIGN_OR_RETURN(part.tables, ticket == nullptr ? DecodeWithKeys(request) : DecodeWithTicket(request, *ticket));
  const PartId id = part.id;
  DropUnusable(&part.tables, reply);
  WEIR_ASSIGN_OR_RETURN(TrainingSteps::Accepted accepted, steps_->Accept(std::move(part)));
  tickets_->Drop(id);
  reply->set_outcome(accepted.outcome);
  return std::move(accepted.released);
}

absl::StatusOr<std::vector<GradientRows>> PushHandler::DecodeWithKeys(const PushRequest& request) const {
  if (!request.pooled_frame().empty()) {
    return absl::InvalidArgumentError("pooled_frame: it can only be pushed with the ticket of a pooled lookup");
  }
  std::vector<GradientRows> tables;
  CallBudget budget(*tables_);
  for (const TableGradients& gradients : request.tables()) {
    WEIR_ASSIGN_OR_RETURN(CallKeys keys, DecodeCallKeys(gradients.keys(), *tables_));
    WEIR_RETURN_IF_ERROR(keys.table->CheckOwned(keys.keys));
    WEIR_RETURN_IF_ERROR(budget.Add(*keys.table, keys.keys.size()));
    WEIR_ASSIGN_OR_RETURN(GradientRows rows, DecodeRows(std::move(keys), gradients.frame()));
    tables.push_back(std::move(rows));
  }
  return tables;
}

absl::StatusOr<std::vector<GradientRows>> PushHandler::DecodeWithTicket(const PushRequest& request, const Ticket& ticket) const {
  if (ticket.scope.has_value()) return DecodePooled(request, ticket);
  if (!request.pooled_frame().empty()) return absl::InvalidArgumentError("pooled_frame: the lookup of this ticket was not pooled");
  std::vector<GradientRows> tables;
  CallBudget budget(*tables_);
  for (const TableGradients& gradients : request.tables()) {
    WEIR_ASSIGN_OR_RETURN(const Table* const table, tables_->Find(gradients.keys().table()));
    const CallKeys* const keys = FindKeys(ticket, table);
    if (keys == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("table ", table->spec().name, ": the lookup of this ticket had no keys of it"));
    }
    if (gradients.keys().count() != 0 || !gradients.keys().keys().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("table ", table->spec().name, ", keys: a push with a ticket has no keys of its own"));
    }
    WEIR_RETURN_IF_ERROR(budget.Add(*table, keys->keys.size()));
    WEIR_ASSIGN_OR_RETURN(GradientRows rows, DecodeRows(*keys, gradients.frame()));
    tables.push_back(std::move(rows));
  }
  return tables;
}

absl::StatusOr<std::vector<GradientRows>> PushHandler::DecodePooled(const PushRequest& request, const Ticket& ticket) const {
  if (request.tables_size() != 0) return absl::InvalidArgumentError("tables: the lookup of this ticket was pooled, push pooled_frame");
  std::vector<GradientRows> tables;
  if (request.pooled_frame().empty() && ticket.scope->kept() == 0) return tables;
  std::vector<std::vector<float>> gradients;
  for (const CallKeys& keys : ticket.tables) gradients.emplace_back(keys.entries());
  const absl::Status scattered = ticket.scope->ScatterPush(request.pooled_frame(), absl::MakeSpan(gradients));
  if (!scattered.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pooled_frame for the ", ticket.scope->kept(), " entries that the lookup kept: ", scattered.message()));
  }
  for (size_t slot = 0; slot < ticket.tables.size(); ++slot) {
    GradientRows rows;
    rows.table = ticket.tables[slot].table->index();
    rows.distinct = ticket.tables[slot].distinct;
    rows.keys = ticket.tables[slot].keys;
    rows.gradients = std::move(gradients[slot]);
    tables.push_back(std::move(rows));
  }
  return tables;
}

void PushHandler::DropUnusable(std::vector<GradientRows>* tables, PushReply* reply) const {
  std::vector<Key> not_finite;
  for (GradientRows& rows : *tables) {
    not_finite.clear();
    DropUnusableRows(tables_->at(rows.table).dim(), &rows, &not_finite);
    reply->set_refused_count(reply->refused_count() + not_finite.size());
    for (Key key : not_finite) {
      if (static_cast<uint32_t>(reply->refused_size()) >= kKeyStatusesMax) break;
      KeyStatus* const status = reply->add_refused();
      status->set_table(rows.table);
      status->set_key(key);
      status->set_code(KeyStatus::CODE_NOT_FINITE);
    }
  }
  if (reply->refused_count() == 0) return;
  spdlog::warn("left out {} rows whose gradient is not finite, the first is key {} of table {}", reply->refused_count(),
               reply->refused(0).key(), tables_->at(reply->refused(0).table()).spec().name);
}

}  // namespace weir::server
