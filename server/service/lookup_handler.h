// Answers lookups: checks the request, waits for its step, reads rows, encodes the reply and keeps the ticket.
#ifndef WEIR_SERVER_SERVICE_LOOKUP_HANDLER_H_
#define WEIR_SERVER_SERVICE_LOOKUP_HANDLER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/data_service.pb.h"
#include "proto/job.pb.h"
#include "server/service/call_keys.h"
#include "server/service/held_rows.h"
#include "server/service/row_answers.h"
#include "server/service/sample_scope.h"
#include "server/service/ticket_store.h"
#include "server/table/table_registry.h"
#include "server/table/training_steps.h"

namespace weir::server {

// One lookup under way. It and what it points to stay until `done` is called.
struct LookupCall {
  const LookupRequest* request = nullptr;
  LookupReply* reply = nullptr;
  absl::Time deadline = absl::InfiniteFuture();  // of the caller
  std::function<void(absl::Status)> done;        // called once; the call may be gone when it returns
};

// Thread-safe.
class LookupHandler {
 public:
  struct Options {
    uint64_t job_hash = 0;
    absl::Duration wait_max;  // for a step, when the caller's deadline is later
    uint32_t workers = 1;
    uint64_t held_rows_max = 0;  // of a table, for each worker; 0: the job sends no changes
    Training training;           // how a gradient would be scaled
    double link = 125e6;         // bytes per second to a worker
  };
  // What it works on outlives it.
  LookupHandler(Options options, const TableRegistry* tables, TrainingSteps* steps, TicketStore* tickets)
      : options_(options),
        tables_(tables),
        steps_(steps),
        tickets_(tickets),
        row_encoder_(*tables, options.link),
        workers_(options.workers) {}

  // Calls call->done, on this thread, or later on the thread that lets the step through. A lookup that waits ends shortly before the
  // caller's deadline, so that the answer, which names the missing ranks, still reaches the caller.
  void Start(LookupCall* call) const;
  // The caller has given up: a lookup that waits ends now.
  void Cancel(LookupCall* call) const { steps_->Cancel(call); }

 private:
  // A request, checked and decoded.
  struct Lookup {
    PartId id;
    bool train = false;
    bool pack = false;
    std::vector<CallKeys> tables;
    std::optional<SampleScope> scope;
    std::vector<RowAnswer> answers;  // of each table, in row scope
    bool changes = false;            // some table is answered by changes
    std::vector<HeldNumbers> held;   // of each table, then
    // Of each table, keys x dim; empty: the rows are answered as they are.
    std::vector<std::vector<float>> what_if_gradients;
    uint64_t what_if_samples = 0;
  };

  absl::StatusOr<Lookup> Decode(const LookupRequest& request) const;
  absl::Status CheckKinds(const LookupRequest& request) const;
  absl::Status CheckReplySize(const LookupRequest& request, const Lookup& lookup) const;
  absl::Status Answer(Lookup* lookup, LookupReply* reply) const;
  absl::Status AnswerRows(const Lookup& lookup, LookupReply* reply) const;
  absl::Status AnswerPooled(Lookup* lookup, LookupReply* reply) const;
  absl::Status DecodeWhatIf(const LookupRequest& request, Lookup* lookup) const;
  absl::Status DecodeAnswers(const LookupRequest& request, Lookup* lookup) const;
  absl::Status DecodeHeld(const LookupRequest& request, Lookup* lookup) const;
  absl::Status AnswerChanges(Lookup* lookup, LookupReply* reply) const;
  absl::Status EncodeChanges(Lookup* lookup, WorkerRows* worker, LookupReply* reply) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(worker->mu);

  const Options options_;
  const TableRegistry* const tables_;
  TrainingSteps* const steps_;
  TicketStore* const tickets_;
  const RowEncoder row_encoder_;
  mutable std::vector<WorkerRows> workers_;  // by rank
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_LOOKUP_HANDLER_H_
