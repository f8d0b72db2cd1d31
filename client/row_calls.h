// Row scope on the wire: requests of a step's parts, and rows out of their replies.
#ifndef WEIR_CLIENT_ROW_CALLS_H_
#define WEIR_CLIENT_ROW_CALLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/call_splitter.h"
#include "client/embedding_bags.h"
#include "client/held_rows.h"
#include "client/lookup_policy.h"
#include "client/pending_calls.h"
#include "client/server_group.h"
#include "proto/data_service.pb.h"

namespace weir::client {

// A lookup or push of a part, without keys and values: who asks, what for, which step.
LookupRequest LookupOf(const ServerGroup& group, int64_t step, LookupRequest::Purpose purpose, const CallPart& part);
PushRequest PushOf(const ServerGroup& group, int64_t step, uint32_t samples, const CallPart& part);

// REQUIRES: strictly increasing keys, but for CODING_RAW.
void EncodeKeys(uint32_t table, absl::Span<const Key> keys, TableKeys::Coding coding, TableKeys* out);

// The rows of one step: what is asked for and where it goes. All tables have the same width.
struct RowStep {
  int64_t step = 0;
  uint32_t samples = 0;
  uint32_t dim = 0;
  TableKeys::Coding coding = TableKeys::CODING_SORTED_DELTA;
  absl::Span<const TableBatch> tables;
  absl::Span<const CallPart> parts;
  absl::Span<const HeldTableBatch> held;  // of each table, when the worker keeps rows; empty: all rows travel

  // Of batch `i` of tables: null, when its rows are not kept.
  const HeldTableBatch* HeldOf(size_t i) const { return held.empty() || held[i].ranges.empty() ? nullptr : &held[i]; }
};

struct RowAnswer {
  LookupRequest::Purpose purpose = LookupRequest::PURPOSE_EVALUATE;
  absl::Span<const RowReply> replies;  // of each table of the step; empty: rows in fp32
  Compression::Entropy entropy = Compression::ENTROPY_UNSPECIFIED;
  absl::Span<const float> what_if_gradients;  // evaluation: all rows of all tables x dim; empty: rows as they are
  uint64_t what_if_samples = 0;
};

// Starts a lookup of each part that has keys. Adds to `stats`, of each table of the step, the bytes of its keys. INVALID_ARGUMENT:
// gradients that are not finite, or beyond bf16, in which they travel.
absl::Status StartRowLookups(const ServerGroup& group, const RowStep& step, const RowAnswer& answer, LookupCalls* calls,
                             absl::Span<CodecStats> stats);

// Of one table of a step, over all calls.
struct RowCounts {
  uint64_t initial = 0;                      // rows that answered their initial value
  uint64_t distinct = 0, distinct_sent = 0;  // where they were asked for
};

// Writes the rows of successful lookups (all rows of all tables x dim); adds to `counts`, of each table of the step or empty, and to
// `stats`, of each table of the step, what travelled. Errors name the server: what it answered is not what was asked for.
absl::Status ReadRows(const ServerGroup& group, const RowStep& step, const LookupCalls& calls, absl::Span<float> rows,
                      absl::Span<RowCounts> counts, absl::Span<CodecStats> stats);

enum class PushKeys {
  kSend,
  kTicket,  // a part that was looked up for training names its ticket instead
};

// Starts a push of every part; frames[i] belongs to run i, counted over all parts. Adds to `stats`, of each table of the step, what
// travels.
void StartRowPushes(const ServerGroup& group, const RowStep& step, PushKeys keys, std::vector<std::string> frames, PushCalls* calls,
                    absl::Span<CodecStats> stats);

// Waits for the calls of StartRowPushes. A server that does not hold a ticket (it says FAILED_PRECONDITION) gets the part again, with keys.
absl::Status WaitForRowPushes(const RowStep& step, PushCalls* calls);

// Rows that servers left out of a push because their gradient was not finite.
struct RefusedRows {
  std::vector<KeyStatus> rows;  // as many as the servers named
  uint64_t count = 0;           // all
};

// From the replies of finished pushes. INVALID_ARGUMENT: a table that does not exist.
absl::StatusOr<RefusedRows> CollectRefused(const ServerGroup& group, const PushCalls& calls);

// Collects, and logs one warning when anything was refused.
absl::Status ReportRefused(const ServerGroup& group, int64_t step, const PushCalls& calls);

}  // namespace weir::client

#endif  // WEIR_CLIENT_ROW_CALLS_H_
