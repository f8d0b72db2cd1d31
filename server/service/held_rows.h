// What each worker holds of each table: the other side of client/held_rows.h. A worker numbers the rows that it asks for, so that it names
// them in a byte or two from then on; the server remembers key and contents by number, and sends what has changed.
#ifndef WEIR_SERVER_SERVICE_HELD_ROWS_H_
#define WEIR_SERVER_SERVICE_HELD_ROWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "base/mutex.h"
#include "proto/data_service.pb.h"
#include "server/service/call_keys.h"
#include "server/service/row_answers.h"

namespace weir::server {

// One table's HeldRows of a call, decoded; what the numbers stand for is found when the call is answered, after those before it.
struct HeldNumbers {
  uint32_t generation = 0;
  uint32_t first_new = 0;
  std::vector<uint32_t> numbers;  // strictly increasing
};

// INVALID_ARGUMENT, naming the field: bytes that do not hold `count` increasing numbers, or more of them or of new rows than `rows_max`.
absl::StatusOr<HeldNumbers> DecodeHeldNumbers(const HeldRows& held, TableKeys::Coding coding, uint64_t new_rows, uint64_t rows_max);

// What one worker holds of one table. Guarded by its worker's lock.
class WorkerTable {
 public:
  // Puts the keys of the held rows ahead of the new ones in `keys`, and makes room for these. FAILED_PRECONDITION: a number or generation
  // that this server does not know.
  absl::Status Resolve(const HeldNumbers& held, CallKeys* keys);
  // Encodes into `answer` what brings the worker's rows to `rows` (keys of Resolve x dim). Of the new ones, those at the positions
  // `initial` of the keys, increasing, are what they were at first: the worker computes them.
  absl::Status Encode(const HeldNumbers& held, absl::Span<const float> rows, absl::Span<const uint32_t> initial, const RowAnswer& how,
                      TableRows* answer);

 private:
  absl::Status EncodeAdded(const HeldNumbers& held, absl::Span<const float> rows, const std::vector<bool>& initial, const RowAnswer& how,
                           TableRows* answer);

  uint32_t dim_ = 0;
  uint32_t generation_ = 0;
  std::vector<Key> keys_;      // by number
  std::vector<bool> known_;    // false: a part that names it has not come yet
  std::vector<float> values_;  // by number: what the worker has after the replies encoded so far
};

// All tables of one worker.
struct WorkerRows {
  Mutex mu;
  uint64_t incarnation ABSL_GUARDED_BY(mu) = 0;
  std::vector<WorkerTable> tables ABSL_GUARDED_BY(mu);
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_HELD_ROWS_H_
