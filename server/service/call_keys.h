// The keys of a call, decoded and checked.
#ifndef WEIR_SERVER_SERVICE_CALL_KEYS_H_
#define WEIR_SERVER_SERVICE_CALL_KEYS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/key.h"
#include "proto/data_service.pb.h"
#include "server/table/table_registry.h"

namespace weir::server {

// The keys of one table of a call.
struct CallKeys {
  Table* table = nullptr;
  bool distinct = false;  // no key occurs twice
  std::vector<Key> keys;

  uint64_t entries() const { return uint64_t{keys.size()} * table->dim(); }
};

// INVALID_ARGUMENT, naming table and field: unknown table, too many keys, unknown coding, bytes that do not hold `count` keys.
absl::StatusOr<CallKeys> DecodeCallKeys(const TableKeys& keys, const TableRegistry& tables);

// Counts what a call takes apart, so that it can be refused before memory is taken. RESOURCE_EXHAUSTED: more than kFrameEntriesMax numbers.
// INVALID_ARGUMENT: a table named twice.
class CallBudget {
 public:
  explicit CallBudget(const TableRegistry& tables) : seen_(tables.size(), false) {}
  absl::Status Add(const Table& table, uint64_t keys);
  uint64_t entries() const { return entries_; }

 private:
  std::vector<bool> seen_;  // by table
  uint64_t entries_ = 0;
};

// FAILED_PRECONDITION, naming both, when the caller runs another job than this server.
absl::Status CheckJobHash(uint64_t callers, uint64_t servers);

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_CALL_KEYS_H_
