#include "server/service/lookup_handler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "proto/step_scales.h"

namespace weir::server {
namespace {

// For keys, tables and checksums of a reply beside its numbers.
constexpr uint64_t kReplyOverheadBytes = uint64_t{1} << 20;

absl::Time WaitDeadline(absl::Time callers, absl::Duration wait_max) {
  const absl::Time now = absl::Now();
  const absl::Duration left = std::min(callers - now, wait_max);
  return now + left - std::min(left / 10, absl::Milliseconds(250));
}

PartId IdOf(const LookupRequest& request) {
  PartId id;
  id.worker_rank = request.worker_rank();
  id.incarnation = request.incarnation();
  id.step = request.step();
  id.part = request.part();
  return id;
}

void Finish(LookupCall* call, absl::Status status) {
  // The call may be gone before its `done` returns.
  const std::function<void(absl::Status)> done = std::move(call->done);
  done(std::move(status));
}

}  // namespace

void LookupHandler::Start(LookupCall* call) const {
  absl::StatusOr<Lookup> decoded = Decode(*call->request);
  if (!decoded.ok()) return Finish(call, decoded.status());
  const auto lookup = std::make_shared<Lookup>(*std::move(decoded));
  Waiter waiter;
  waiter.owner = call;
  waiter.step = lookup->id.step;
  waiter.deadline = WaitDeadline(call->deadline, options_.wait_max);
  waiter.resume = [this, call, lookup](absl::Status status) {
    if (status.ok()) status = Answer(lookup.get(), call->reply);
    Finish(call, std::move(status));
  };
  if (lookup->train) {
    steps_->WaitToTrain(std::move(waiter));
  } else {
    steps_->WaitToEvaluate(std::move(waiter));
  }
}

absl::Status LookupHandler::CheckKinds(const LookupRequest& request) const {
  if (request.purpose() != LookupRequest::PURPOSE_TRAIN && request.purpose() != LookupRequest::PURPOSE_EVALUATE) {
    return absl::InvalidArgumentError(absl::StrCat("purpose ", request.purpose(), " is unknown"));
  }
  switch (request.entropy()) {
    case Compression::ENTROPY_UNSPECIFIED:
    case Compression::ENTROPY_NONE:
    case Compression::ENTROPY_HUFFMAN:
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(absl::StrCat("entropy ", request.entropy(), " is unknown"));
  }
}

absl::StatusOr<LookupHandler::Lookup> LookupHandler::Decode(const LookupRequest& request) const {
  WEIR_RETURN_IF_ERROR(CheckJobHash(request.job_hash(), options_.job_hash));
  WEIR_RETURN_IF_ERROR(CheckKinds(request));
  Lookup lookup;
  lookup.id = IdOf(request);
  lookup.train = request.purpose() == LookupRequest::PURPOSE_TRAIN;
  lookup.pack = request.entropy() == Compression::ENTROPY_HUFFMAN;
  if (lookup.train) WEIR_RETURN_IF_ERROR(steps_->CheckId(lookup.id, request.parts()));
  CallBudget budget(*tables_);
  lookup.tables.reserve(std::min<size_t>(request.tables_size(), tables_->size()));
  for (const TableKeys& encoded : request.tables()) {
    WEIR_ASSIGN_OR_RETURN(CallKeys keys, DecodeCallKeys(encoded, *tables_));
    WEIR_RETURN_IF_ERROR(budget.Add(*keys.table, keys.keys.size() + encoded.held().count()));
    lookup.tables.push_back(std::move(keys));
  }
  WEIR_RETURN_IF_ERROR(DecodeWhatIf(request, &lookup));
  if (request.reply() == LookupRequest::REPLY_POOLED_DCT) {
    WEIR_ASSIGN_OR_RETURN(lookup.scope, SampleScope::Decode(request, lookup.tables));
    return lookup;
  }
  WEIR_RETURN_IF_ERROR(DecodeAnswers(request, &lookup));
  WEIR_RETURN_IF_ERROR(CheckReplySize(request, lookup));
  if (lookup.changes) {
    WEIR_RETURN_IF_ERROR(DecodeHeld(request, &lookup));
  }
  return lookup;
}

absl::Status LookupHandler::DecodeAnswers(const LookupRequest& request, Lookup* lookup) const {
  for (int i = 0; i < request.tables_size(); ++i) {
    const std::string& name = lookup->tables[i].table->spec().name;
    absl::StatusOr<RowAnswer> answer = RowAnswerOf(request, request.tables(i));
    if (!answer.ok()) return absl::Status(answer.status().code(), absl::StrCat("table ", name, ", ", answer.status().message()));
    const bool changes = answer->reply == LookupRequest::REPLY_CHANGES;
    if (changes && (options_.held_rows_max == 0 || !lookup->train)) {
      return absl::InvalidArgumentError("reply: changes go to lookups for training, in a job with compression.lookup.scope: change");
    }
    lookup->changes = lookup->changes || changes;
    lookup->answers.push_back(*answer);
  }
  return absl::OkStatus();
}

absl::Status LookupHandler::DecodeWhatIf(const LookupRequest& request, Lookup* lookup) const {
  const auto asks = [](const TableKeys& table) { return !table.what_if_gradients().empty(); };
  if (std::none_of(request.tables().begin(), request.tables().end(), asks)) return absl::OkStatus();
  if (lookup->train || request.reply() == LookupRequest::REPLY_POOLED_DCT) {
    return absl::InvalidArgumentError("what_if_gradients: only lookups of rows for evaluation can ask so");
  }
  if (request.what_if_samples() == 0) return absl::InvalidArgumentError("what_if_samples: 0, but the step of a gradient has samples");
  lookup->what_if_samples = request.what_if_samples();
  for (int i = 0; i < request.tables_size(); ++i) {
    std::vector<float>& gradients = lookup->what_if_gradients.emplace_back();
    if (!asks(request.tables(i))) continue;
    gradients.resize(lookup->tables[i].entries());
    absl::Status status = compression::DecodeInto(request.tables(i).what_if_gradients(), absl::MakeSpan(gradients));
    const bool finite = std::all_of(gradients.begin(), gradients.end(), [](float g) { return std::isfinite(g); });
    if (status.ok() && !finite) status = absl::InvalidArgumentError("a gradient is not finite");
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("table ", lookup->tables[i].table->spec().name, ", what_if_gradients: ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status LookupHandler::CheckReplySize(const LookupRequest& request, const Lookup& lookup) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < lookup.tables.size(); ++i) {
    // Of changes this is the most: all of them in fp32.
    const uint64_t held = uint64_t{request.tables(static_cast<int>(i)).held().count()} * lookup.tables[i].table->dim();
    bytes += (lookup.tables[i].entries() + held) * lookup.answers[i].entry_bytes_max();
  }
  if (bytes + kReplyOverheadBytes <= kMessageBytesMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the reply would take ", bytes, " bytes, a message has at most ", kMessageBytesMax, ": split the call"));
}

absl::Status LookupHandler::Answer(Lookup* lookup, LookupReply* reply) const {
  reply->set_applied_step(steps_->applied_step());
  if (lookup->changes) return AnswerChanges(lookup, reply);
  if (lookup->scope.has_value()) {
    WEIR_RETURN_IF_ERROR(AnswerPooled(lookup, reply));
  } else {
    WEIR_RETURN_IF_ERROR(AnswerRows(*lookup, reply));
  }
  if (!lookup->train) return absl::OkStatus();
  auto ticket = std::make_shared<Ticket>();
  ticket->tables = std::move(lookup->tables);
  ticket->scope = std::move(lookup->scope);
  return tickets_->Put(lookup->id, std::move(ticket));
}

absl::Status LookupHandler::AnswerRows(const Lookup& lookup, LookupReply* reply) const {
  uint64_t entries_max = 0;
  for (const CallKeys& keys : lookup.tables) entries_max = std::max(entries_max, keys.entries());
  const std::unique_ptr<float[]> buffer(new float[entries_max]);  // not zeroed: every entry used is written
  for (size_t i = 0; i < lookup.tables.size(); ++i) {
    const CallKeys& keys = lookup.tables[i];
    const absl::Span<float> rows(buffer.get(), keys.entries());
    TableRows* const answer = reply->add_tables();
    answer->set_table(keys.table->index());
    if (i < lookup.what_if_gradients.size() && !lookup.what_if_gradients[i].empty()) {
      const StepScales scales = ScalesOf(options_.training, lookup.id.step, lookup.what_if_samples);
      WEIR_RETURN_IF_ERROR(keys.table->LookupWhatIf(keys.keys, lookup.what_if_gradients[i], scales, rows));
    } else {
      WEIR_ASSIGN_OR_RETURN(const uint32_t initial, keys.table->Lookup(keys.keys, rows));
      answer->set_initial(initial);
    }
    WEIR_RETURN_IF_ERROR(row_encoder_.Encode(*keys.table, lookup.answers[i], rows, answer));
  }
  return absl::OkStatus();
}

absl::Status LookupHandler::DecodeHeld(const LookupRequest& request, Lookup* lookup) const {
  for (int i = 0; i < request.tables_size(); ++i) {
    const CallKeys& keys = lookup->tables[i];
    const HeldRows& held = request.tables(i).held();
    if (lookup->answers[i].reply != LookupRequest::REPLY_CHANGES) {
      if (request.tables(i).has_held()) {
        return absl::InvalidArgumentError(absl::StrCat("table ", keys.table->spec().name, ", held: its rows are not answered by changes"));
      }
      lookup->held.emplace_back();
      continue;
    }
    if (held.count() + keys.keys.size() > kKeysPerTableCallMax) {
      return absl::InvalidArgumentError(absl::StrCat("table ", keys.table->spec().name, ", held: ", held.count(), " rows with ",
                                                     keys.keys.size(), " keys in one call, at most ", kKeysPerTableCallMax));
    }
    absl::StatusOr<HeldNumbers> numbers = DecodeHeldNumbers(held, request.tables(i).coding(), keys.keys.size(), options_.held_rows_max);
    if (!numbers.ok()) {
      return absl::Status(numbers.status().code(), absl::StrCat("table ", keys.table->spec().name, ", ", numbers.status().message()));
    }
    lookup->held.push_back(*std::move(numbers));
  }
  return absl::OkStatus();
}

absl::Status LookupHandler::AnswerChanges(Lookup* lookup, LookupReply* reply) const {
  WorkerRows& worker = workers_[lookup->id.worker_rank];
  MutexLock lock(&worker.mu);
  if (worker.incarnation != lookup->id.incarnation) {
    worker.tables.clear();
    worker.incarnation = lookup->id.incarnation;
  }
  worker.tables.resize(tables_->size());
  // What the worker holds has moved with the first answer: a second one would be a change of that.
  if (const std::shared_ptr<const Ticket> answered = tickets_->Find(lookup->id); answered != nullptr && answered->reply.has_value()) {
    *reply = *answered->reply;
    return absl::OkStatus();
  }
  WEIR_RETURN_IF_ERROR(EncodeChanges(lookup, &worker, reply));
  auto ticket = std::make_shared<Ticket>();
  ticket->tables = std::move(lookup->tables);
  ticket->reply = *reply;
  return tickets_->Put(lookup->id, std::move(ticket));
}

absl::Status LookupHandler::EncodeChanges(Lookup* lookup, WorkerRows* worker, LookupReply* reply) const {
  std::vector<float> rows;
  std::vector<uint32_t> initial;
  for (size_t i = 0; i < lookup->tables.size(); ++i) {
    CallKeys& keys = lookup->tables[i];
    const RowAnswer& how = lookup->answers[i];
    const bool changes = how.reply == LookupRequest::REPLY_CHANGES;
    WorkerTable& table = worker->tables[keys.table->index()];
    absl::Status status = changes ? table.Resolve(lookup->held[i], &keys) : absl::OkStatus();
    rows.resize(keys.entries());
    TableRows* const answer = reply->add_tables();
    answer->set_table(keys.table->index());
    if (status.ok()) status = keys.table->Lookup(keys.keys, absl::MakeSpan(rows), &initial).status();
    if (status.ok()) {
      answer->set_initial(static_cast<uint32_t>(initial.size()));
      status = changes ? table.Encode(lookup->held[i], rows, initial, how, answer) : row_encoder_.Encode(*keys.table, how, rows, answer);
    }
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat("table ", keys.table->spec().name, ", ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status LookupHandler::AnswerPooled(Lookup* lookup, LookupReply* reply) const {
  uint64_t entries = 0;
  for (const CallKeys& keys : lookup->tables) entries += keys.entries();
  const std::unique_ptr<float[]> buffer(new float[entries]);  // not zeroed: every entry is written
  std::vector<const float*> tables;
  float* next = buffer.get();
  for (const CallKeys& keys : lookup->tables) {
    WEIR_RETURN_IF_ERROR(keys.table->Lookup(keys.keys, absl::MakeSpan(next, keys.entries())).status());
    tables.push_back(next);
    next += keys.entries();
  }
  WEIR_RETURN_IF_ERROR(lookup->scope->EncodePooled(tables, reply->mutable_pooled_frame()));
  if (lookup->pack) compression::PackFrame(reply->mutable_pooled_frame());
  if (reply->pooled_frame().size() + kReplyOverheadBytes <= kMessageBytesMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the pooled reply takes ", reply->pooled_frame().size(),
                                                   " bytes, a message has at most ", kMessageBytesMax, ": split the call"));
}

}  // namespace weir::server
