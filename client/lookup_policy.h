// How each table's rows are asked for at each step: the settings of compression.lookup, with what changes over time (warm-up of changes,
// decay of error bounds, what the quality guard asks for) and what is measured of tables (their class).
#ifndef WEIR_CLIENT_LOOKUP_POLICY_H_
#define WEIR_CLIENT_LOOKUP_POLICY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/state_visitor.h"
#include "client/client_options.h"
#include "proto/data_service.pb.h"
#include "proto/job.pb.h"

namespace weir::client {

// How the rows of one table are answered; fields as in proto LookupRequest.
struct RowReply {
  LookupRequest::Reply reply = LookupRequest::REPLY_FP32;
  double sparsity = 0;                                           // REPLY_CHANGES
  Compression::Values values = Compression::VALUES_UNSPECIFIED;  // REPLY_CHANGES
  double error_bound = 0;                                        // REPLY_ERROR_BOUNDED
  bool count_distinct = false;                                   // REPLY_ERROR_BOUNDED
};

// Single-threaded.
class LookupPolicy {
 public:
  // INVALID_ARGUMENT: a method that does not send rows, or a table that the servers do not have.
  static absl::StatusOr<LookupPolicy> Create(absl::Span<const TableInfo> tables, const Compression::Lookup& settings);

  // Of lookups for training.
  RowReply ReplyOf(uint32_t table, int64_t step) const;
  bool holds_rows(uint32_t table) const { return tables_[table].reply.reply == LookupRequest::REPLY_CHANGES; }
  bool holds_rows() const;

  // From the next lookup on: `factor`, at least 1, times as many changed entries as the settings say, at most all.
  void SetDensityFactor(double factor) { density_factor_ = factor; }
  // What is remembered from step to step.
  void VisitState(StateVisitor* state);
  // A step's answer: how many different rows a table had, and how many after rounding.
  void Observe(uint32_t table, uint64_t distinct, uint64_t distinct_sent);

 private:
  struct TablePolicy {
    RowReply reply;
    double error_bound_start = 1;
    uint64_t error_bound_steps = 0;
    bool by_class = false;
    uint64_t warmup_steps = 0;
    // What was observed in the current span of steps, and the class that came of those before it.
    uint64_t distinct = 0;
    uint64_t distinct_sent = 0;
    double bound_factor = 1;
    uint64_t observations = 0;
  };

  static absl::StatusOr<TablePolicy> PolicyOf(const Compression::Lookup& settings);

  std::vector<TablePolicy> tables_;
  double density_factor_ = 1;
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_LOOKUP_POLICY_H_
