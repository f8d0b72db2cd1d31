// How the rows of one table of a lookup are answered: what the call asks for, or the table for itself.
#ifndef WEIR_SERVER_SERVICE_ROW_ANSWERS_H_
#define WEIR_SERVER_SERVICE_ROW_ANSWERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compression/bounded_rows.h"
#include "compression/row_changes.h"
#include "proto/data_service.pb.h"
#include "server/service/call_keys.h"
#include "server/table/table_registry.h"

namespace weir::server {

struct RowAnswer {
  LookupRequest::Reply reply = LookupRequest::REPLY_UNSPECIFIED;
  compression::RowChangeOptions changes;  // REPLY_CHANGES
  double error_bound = 0;                 // REPLY_ERROR_BOUNDED
  bool count_distinct = false;            // REPLY_ERROR_BOUNDED
  bool pack = false;                      // frames by the entropy stage; error-bounded ones choose for themselves

  // Of an entry in the reply, at most.
  uint64_t entry_bytes_max() const;
};

// INVALID_ARGUMENT, naming the field: a reply that is not of rows, or numbers that it cannot use.
absl::StatusOr<RowAnswer> RowAnswerOf(const LookupRequest& request, const TableKeys& table);

// Encodes rows. Thread-safe.
class RowEncoder {
 public:
  // link: bytes per second to a worker.
  RowEncoder(const TableRegistry& tables, double link);

  // Fills the frame, and the counts that were asked for. `rows` are of the table's keys. Not for REPLY_CHANGES (held_rows.h).
  absl::Status Encode(const Table& table, const RowAnswer& answer, absl::Span<const float> rows, TableRows* reply) const;

 private:
  absl::Status EncodeBounded(const Table& table, const RowAnswer& answer, absl::Span<const float> rows, TableRows* reply) const;

  std::vector<std::unique_ptr<compression::EncodingChooser>> choosers_;  // of each table
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_ROW_ANSWERS_H_
