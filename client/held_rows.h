// The rows that this worker has seen and keeps (compression.lookup.scope: change), numbered so that it can name them in a byte or two. The
// other side: server/service/held_rows.h.
#ifndef WEIR_CLIENT_HELD_ROWS_H_
#define WEIR_CLIENT_HELD_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "client/bag_batch.h"
#include "client/call_splitter.h"

namespace weir::client {

// Values by number. A lookup under way keeps those that it asked about, also when the worker has begun anew since.
using HeldValues = std::vector<float>;

// The slots of one table that one server owns: first those that were held when they were asked for, by number, then the new ones by key.
struct HeldRange {
  uint32_t generation = 0;
  uint32_t first_new = 0;  // number of the first new slot
  uint32_t begin_new = 0;  // its slot
  std::shared_ptr<HeldValues> values;
};

// How the slots of a batch are held; in the order of BagBatch::tables.
struct HeldTableBatch {
  std::vector<uint32_t> numbers;  // of each slot
  std::vector<HeldRange> ranges;  // of each server
};

// Single-threaded.
class HeldTables {
 public:
  // At most rows_max rows of each table are kept for each server; when a batch would make them more, those of that table and server are all
  // given up and numbered anew: nothing is lost by it, since what the server sends is always against what is held. Numbering begins with
  // `generation`, which the servers must not have seen from this worker yet.
  HeldTables(uint32_t tables, uint32_t servers, uint32_t dim, uint64_t rows_max, uint32_t generation = 1);

  // Of all tables and servers.
  uint32_t latest_generation() const;

  // Gives up all rows, of every table: what is looked up next is numbered anew.
  void BeginAnew();

  // Reorders the slots of those tables of `batch` whose rows are held, and says how; the others have no ranges. Rows that are new get their
  // number here, and their values when the reply is read. REQUIRES: distinct keys, sorted within a server.
  void Place(const std::function<bool(uint32_t table)>& holds, BagBatch* batch, std::vector<HeldTableBatch>* held);

 private:
  // Of one table on one server.
  struct Owned {
    uint32_t generation = 1;
    absl::flat_hash_map<Key, uint32_t> number_of;
    std::shared_ptr<HeldValues> values = std::make_shared<HeldValues>();
  };
  struct NumberedSlot {
    uint32_t number = 0;
    uint32_t slot = 0;
  };

  static void BeginAnew(Owned* owned);
  HeldRange PlaceRange(Owned* owned, const RoutedKeys& keys, uint32_t begin, uint32_t end);

  const uint32_t servers_;
  const uint32_t dim_;
  const uint64_t rows_max_;
  std::vector<Owned> owned_;  // table x server
  std::vector<NumberedSlot> known_;
  std::vector<uint32_t> added_;
  std::vector<uint32_t> order_;     // old slots in their new order
  std::vector<uint32_t> new_slot_;  // of each old one
  std::vector<Key> keys_;
  std::vector<uint32_t> numbers_;
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_HELD_ROWS_H_
