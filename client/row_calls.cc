#include "client/row_calls.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/held_calls.h"
#include "compression/frame.h"
#include "compression/key_codec.h"
#include "spdlog/spdlog.h"

namespace weir::client {
namespace {

absl::Span<const Key> KeysOf(const RowStep& step, const KeyRun& run) {
  return absl::MakeConstSpan(step.tables[run.batch].keys.keys).subspan(run.begin, run.size());
}

void EncodeRun(const RowStep& step, const KeyRun& run, TableKeys* out) {
  // Held slots are in the order of their numbers, not of their keys.
  const TableKeys::Coding coding = step.HeldOf(run.batch) == nullptr ? step.coding : TableKeys::CODING_RAW;
  EncodeKeys(step.tables[run.batch].table, KeysOf(step, run), coding, out);
}

bool SameReply(const RowReply& a, const RowReply& b) {
  return a.reply == b.reply && a.sparsity == b.sparsity && a.values == b.values && a.error_bound == b.error_bound &&
         a.count_distinct == b.count_distinct;
}

// What most tables ask for stands in the call, the others bring their own.
void SetReply(const RowReply& reply, LookupRequest* request) {
  request->set_reply(reply.reply);
  request->set_sparsity(reply.sparsity);
  request->set_values(reply.values);
  request->set_error_bound(reply.error_bound);
}

void SetReply(const RowReply& reply, TableReply* own) {
  own->set_reply(reply.reply);
  own->set_sparsity(reply.sparsity);
  own->set_values(reply.values);
  own->set_error_bound(reply.error_bound);
  own->set_count_distinct(reply.count_distinct);
}

RowReply MostFrequent(absl::Span<const RowReply> replies) {
  size_t best = 0;
  ptrdiff_t best_count = 0;
  for (size_t i = 0; i < replies.size(); ++i) {
    const ptrdiff_t count =
        std::count_if(replies.begin() + i, replies.end(), [&](const RowReply& reply) { return SameReply(reply, replies[i]); });
    if (count > best_count) best = i, best_count = count;
  }
  RowReply reply = replies[best];
  reply.count_distinct = false;  // a call cannot ask for it, its tables can
  return reply;
}

absl::Status ReadPart(const ServerGroup& group, const RowStep& step, const CallPart& part, const LookupReply& reply, absl::Span<float> rows,
                      absl::Span<RowCounts> counts, absl::Span<CodecStats> stats) {
  if (reply.tables_size() != static_cast<int>(part.runs.size())) {
    return absl::InvalidArgumentError(absl::StrCat("answered ", reply.tables_size(), " tables, asked for ", part.runs.size()));
  }
  for (size_t i = 0; i < part.runs.size(); ++i) {
    const KeyRun& run = part.runs[i];
    const TableBatch& batch = step.tables[run.batch];
    const TableRows& answer = reply.tables(static_cast<int>(i));
    if (answer.table() != batch.table || answer.initial() > run.size()) {
      return absl::InvalidArgumentError(absl::StrCat("answered ", answer.initial(), " initial rows of table ", answer.table(),
                                                     ", asked for ", run.size(), " rows of table ", batch.table));
    }
    const absl::Time begin = absl::Now();
    const absl::Span<float> target = rows.subspan((batch.first_row + run.begin) * step.dim, size_t{run.size()} * step.dim);
    const HeldTableBatch* const held = step.HeldOf(run.batch);
    const absl::Status status = held == nullptr ? compression::DecodeInto(answer.frame(), target)
                                                : ReadHeldRun({batch, *held, part.server, run}, answer,
                                                              {step.dim, group.initializer(batch.table)}, target, &stats[run.batch].stats);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("rows of table ", batch.table, ": ", status.message()));
    }
    if (!counts.empty()) {
      counts[run.batch].initial += answer.initial();
      counts[run.batch].distinct += answer.distinct();
      counts[run.batch].distinct_sent += answer.distinct_sent();
    }
    stats[run.batch].bytes += compression::FrameBytesOf(answer.frame());
    stats[run.batch].bytes += compression::FrameBytesOf(answer.changes());
    stats[run.batch].bytes.mask += answer.initial_rows().size();
    stats[run.batch].seconds += absl::ToDoubleSeconds(absl::Now() - begin);
  }
  return absl::OkStatus();
}

}  // namespace

LookupRequest LookupOf(const ServerGroup& group, int64_t step, LookupRequest::Purpose purpose, const CallPart& part) {
  LookupRequest request;
  request.set_job_hash(group.options().job_hash);
  request.set_worker_rank(group.options().worker_rank);
  request.set_incarnation(group.options().incarnation);
  request.set_step(step);
  request.set_part(part.part);
  request.set_parts(part.parts);
  request.set_purpose(purpose);
  return request;
}

PushRequest PushOf(const ServerGroup& group, int64_t step, uint32_t samples, const CallPart& part) {
  PushRequest request;
  request.set_job_hash(group.options().job_hash);
  request.set_worker_rank(group.options().worker_rank);
  request.set_incarnation(group.options().incarnation);
  request.set_step(step);
  request.set_part(part.part);
  request.set_parts(part.parts);
  request.set_samples(samples);
  return request;
}

void EncodeKeys(uint32_t table, absl::Span<const Key> keys, TableKeys::Coding coding, TableKeys* out) {
  out->set_table(table);
  out->set_count(static_cast<uint32_t>(keys.size()));
  out->set_coding(coding);
  if (coding == TableKeys::CODING_RAW) {
    compression::EncodeKeysRaw(keys, out->mutable_keys());
  } else if (coding == TableKeys::CODING_SORTED_RICE) {
    compression::EncodeKeysRice(keys, out->mutable_keys());
  } else {
    compression::EncodeKeysSorted(keys, out->mutable_keys());
  }
}

absl::Status StartRowLookups(const ServerGroup& group, const RowStep& step, const RowAnswer& answer, LookupCalls* calls,
                             absl::Span<CodecStats> stats) {
  std::vector<std::pair<uint32_t, LookupRequest>> requests;  // by server
  const RowReply of_call = answer.replies.empty() ? RowReply() : MostFrequent(answer.replies);
  for (const CallPart& part : step.parts) {
    if (part.runs.empty()) continue;
    LookupRequest& request = requests.emplace_back(part.server, LookupOf(group, step.step, answer.purpose, part)).second;
    SetReply(of_call, &request);
    request.set_entropy(answer.entropy);
    request.set_samples(step.samples);
    request.set_what_if_samples(answer.what_if_samples);
    for (const KeyRun& run : part.runs) {
      TableKeys* const keys = request.add_tables();
      if (const HeldTableBatch* const held = step.HeldOf(run.batch)) {
        EncodeHeldRun({step.tables[run.batch], *held, part.server, run}, step.coding, keys);
      } else {
        EncodeRun(step, run, keys);
      }
      if (!answer.replies.empty() && !SameReply(answer.replies[run.batch], of_call)) {
        SetReply(answer.replies[run.batch], keys->mutable_reply());
      }
      stats[run.batch].key_bytes += keys->keys().size() + keys->held().numbers().size();
      if (answer.what_if_gradients.empty()) continue;
      const size_t first = (step.tables[run.batch].first_row + run.begin) * step.dim;
      WEIR_RETURN_IF_ERROR(compression::EncodeDense(answer.what_if_gradients.subspan(first, size_t{run.size()} * step.dim),
                                                    compression::ValueType::kBf16, keys->mutable_what_if_gradients()));
      stats[run.batch].bytes += compression::FrameBytesOf(keys->what_if_gradients());
    }
  }
  for (auto& [server, request] : requests) calls->Start(server, std::move(request));
  return absl::OkStatus();
}

absl::Status ReadRows(const ServerGroup& group, const RowStep& step, const LookupCalls& calls, absl::Span<float> rows,
                      absl::Span<RowCounts> counts, absl::Span<CodecStats> stats) {
  size_t call = 0;
  for (const CallPart& part : step.parts) {
    if (part.runs.empty()) continue;
    if (absl::Status status = ReadPart(group, step, part, calls.reply(call++), rows, counts, stats); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(group.NameOf(part.server), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

void StartRowPushes(const ServerGroup& group, const RowStep& step, PushKeys keys, std::vector<std::string> frames, PushCalls* calls,
                    absl::Span<CodecStats> stats) {
  size_t frame = 0;
  for (const CallPart& part : step.parts) {
    PushRequest request = PushOf(group, step.step, step.samples, part);
    request.set_ticket(keys == PushKeys::kTicket && !part.runs.empty());
    for (const KeyRun& run : part.runs) {
      TableGradients* const gradients = request.add_tables();
      if (request.ticket()) {
        gradients->mutable_keys()->set_table(step.tables[run.batch].table);
      } else {
        EncodeRun(step, run, gradients->mutable_keys());
      }
      gradients->set_frame(std::move(frames[frame++]));
      stats[run.batch].key_bytes += gradients->keys().keys().size();
      stats[run.batch].bytes += compression::FrameBytesOf(gradients->frame());
    }
    calls->Start(part.server, std::move(request));
  }
}

absl::Status WaitForRowPushes(const RowStep& step, PushCalls* calls) {
  return calls->Wait([&step](size_t call, const absl::Status& failure, PushRequest* request) {
    if (!absl::IsFailedPrecondition(failure) || !request->ticket()) return false;
    request->set_ticket(false);
    const CallPart& part = step.parts[call];
    for (size_t i = 0; i < part.runs.size(); ++i)
      EncodeRun(step, part.runs[i], request->mutable_tables(static_cast<int>(i))->mutable_keys());
    return true;
  });
}

absl::StatusOr<RefusedRows> CollectRefused(const ServerGroup& group, const PushCalls& calls) {
  RefusedRows refused;
  for (size_t call = 0; call < calls.size(); ++call) {
    const PushReply& reply = calls.reply(call);
    refused.count += reply.refused_count();
    for (const KeyStatus& row : reply.refused()) {
      if (row.table() >= group.tables().size()) {
        return absl::InvalidArgumentError(absl::StrCat("a server refused a row of table ", row.table(), ", which does not exist"));
      }
      refused.rows.push_back(row);
    }
  }
  return refused;
}

absl::Status ReportRefused(const ServerGroup& group, int64_t step, const PushCalls& calls) {
  WEIR_ASSIGN_OR_RETURN(const RefusedRows refused, CollectRefused(group, calls));
  if (refused.rows.empty()) return absl::OkStatus();
  const KeyStatus& first = refused.rows.front();
  spdlog::warn("step {}: {} rows were left as they were because their gradients are not finite, the first is key {} of table {}", step,
               refused.count, first.key(), group.tables()[first.table()].name);
  return absl::OkStatus();
}

}  // namespace weir::client
