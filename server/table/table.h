// One table on one server: its rows in the shards that the server owns, what they start from and how they are updated.
#ifndef WEIR_SERVER_TABLE_TABLE_H_
#define WEIR_SERVER_TABLE_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "base/mutex.h"
#include "proto/job_tables.h"
#include "proto/row_initializer.h"
#include "proto/shard_map.h"
#include "proto/step_scales.h"
#include "server/optimizer/row_optimizer.h"
#include "server/storage/page_layout.h"
#include "server/storage/row_search.h"
#include "server/storage/row_store.h"
#include "server/storage/slab_arena.h"

namespace weir::server {

// Whose shards of which map.
struct ShardPlace {
  uint32_t server_index = 0;
  ShardMap map;
};

// Whole rows: values holds for each key its weights, then its slots.
struct RowBatch {
  std::vector<Key> keys;
  std::vector<float> values;
};

struct TableSize {
  uint64_t rows = 0;
  uint64_t payload_bytes = 0;  // weights and slots
  uint64_t memory_bytes = 0;   // with keys, index and what is not used yet
};

// Thread-safe: a lock for each shard, held for a few rows at a time and never while something else is waited for. A lookup sees each row
// whole, but may see some rows before and some after an Apply that runs beside it: what must not mix is kept apart by steps
// (training_steps.h). While the number of servers changes, shards come and go; each call sees those of one moment.
class Table {
 public:
  // `index` is the table's place in the job; `arena` outlives the table. INVALID_ARGUMENT: settings that no optimizer or initializer knows.
  static absl::StatusOr<std::unique_ptr<Table>> Create(uint32_t index, TableSpec spec, uint64_t seed, ShardPlace place, SlabArena* arena);

  const TableSpec& spec() const { return spec_; }
  uint32_t index() const { return index_; }
  uint32_t dim() const { return spec_.dim; }

  // Writes the row of keys[i], any order, duplicates allowed, to rows[i * dim, +dim), and returns how many of the keys have no row: they
  // answer their initial value, and nothing is created; `missing`, when given, gets their positions, increasing. INVALID_ARGUMENT, naming
  // the key: another server owns it. REQUIRES: rows.size() == keys.size() * dim.
  absl::StatusOr<uint32_t> Lookup(absl::Span<const Key> keys, absl::Span<float> rows, std::vector<uint32_t>* missing = nullptr) const;

  // As Lookup, but as the rows would be after Apply with these gradients, which changes nothing. A row whose gradient is exactly zero
  // is answered as it is. REQUIRES: finite gradients, gradients.size() == rows.size() == keys.size() * dim.
  absl::Status LookupWhatIf(absl::Span<const Key> keys, absl::Span<const float> gradients, StepScales scales, absl::Span<float> rows) const;

  // One optimizer step at `scales` for each key; a missing row is created at its initial value first. REQUIRES: distinct keys
  // that CheckOwned has passed, finite gradients, gradients.size() == keys.size() * dim.
  void Apply(absl::Span<const Key> keys, absl::Span<const float> gradients, StepScales scales);

  // INVALID_ARGUMENT, naming the first key that another server owns.
  absl::Status CheckOwned(absl::Span<const Key> keys) const;

  // From now on CopyShard gives the rows as they are now, whatever Apply does meanwhile: what it changes is copied first, row by row.
  // REQUIRES: no Apply runs beside it. A shard that is frozen already is frozen anew.
  void Freeze();
  // All rows of a shard, as they were when it was frozen; then it is no longer. Its lock is held over the copy. None, when another server
  // owns it. REQUIRES: frozen.
  void CopyShard(uint32_t shard, RowBatch* rows);
  // What is frozen still is no longer.
  void Thaw();
  // Takes over those rows whose keys this server owns, as they are; rows that are here already are replaced. REQUIRES: row_floats() values
  // for each key.
  void RestoreRows(const RowBatch& rows);

  // Shards move from server to server while no row changes: their rows are copied and received, the shards are gained, and their old owner
  // drops them.

  // All rows of a shard as they are; none, when another server owns it. Its lock is held over the copy.
  void CopyRows(uint32_t shard, RowBatch* rows) const;

  // Keeps rows of shards that are about to be gained; nobody sees them yet. REQUIRES: as RestoreRows.
  void ReceiveRows(const RowBatch& rows);
  // The shards that `map` gives this server are its own, those that it did not own before with the rows received. What else was received is
  // forgotten.
  void GainShards(const ShardMap& map);
  // Shards that `map` gives to others are no longer its own; their rows go, and their memory can be used again.
  void DropShards(const ShardMap& map);

  // All of the job, whoever owns them.
  uint32_t shard_count() const { return static_cast<uint32_t>(shards_.size()); }
  uint32_t row_floats() const { return page_layout_.row().weights + page_layout_.row().slots; }

  TableSize Size() const;
  // Sum over rows, modulo 2^64, of a hash of table, key, weights and slots: independent of order and placement.
  uint64_t Fingerprint() const;

 private:
  // What was different when a shard was frozen.
  struct Frozen {
    absl::flat_hash_map<Key, size_t> row_of;  // of keys whose row has changed: its number in `rows`
    RowBatch rows;
    absl::flat_hash_set<Key> added;  // keys that had no row
  };
  struct Shard {
    Shard(uint32_t table, const PageLayout* layout, SlabArena* arena) : rows(table, layout, arena) {}
    Mutex mu;
    // Guarded by mu; whole windows of shards are locked at a time, which annotations cannot say.
    RowStore rows;
    std::unique_ptr<Frozen> frozen;  // null: it is not
  };
  struct Block;
  class WindowLock;

  Table(uint32_t index, TableSpec spec, ShardPlace place, SlabArena* arena, std::unique_ptr<RowOptimizer> optimizer,
        std::unique_ptr<RowInitializer> initializer);

  using Shards = std::vector<std::unique_ptr<Shard>>;

  bool Owns(const ShardMap& map, uint32_t shard) const { return OwnerOf(map, shard) == server_index_; }
  std::unique_ptr<Shard> NewShard() const { return std::make_unique<Shard>(index_, &page_layout_, arena_); }
  absl::Status NotOwned(uint32_t position, Key key, uint32_t shard) const ABSL_SHARED_LOCKS_REQUIRED(ownership_);
  // Places keys [first, first + block->size).
  absl::Status Place(absl::Span<const Key> keys, size_t first, Block* block) const ABSL_SHARED_LOCKS_REQUIRED(ownership_);
  void WriteRow(Key key, const float* values, Shard* shard) const;
  // As they were when frozen; null: as they are. REQUIRES: the shard's lock.
  void CopyRowsOf(const Shard& shard, const Frozen* frozen, RowBatch* rows) const;
  // work(window) for all keys, some at a time, with the locks of the window's shards; keys of a shard stand together.
  template <typename Work>
  absl::Status ForEachWindow(absl::Span<const Key> keys, Work work) const;
  // visit(key, row) for each of a window, in any order. REQUIRES: the window's locks.
  template <TouchedPart touched, typename Visit>
  void ForEachRow(absl::Span<const Key> keys, absl::Span<const WantedRow> window, Visit visit) const;
  // Keeps the row of a frozen shard as it is, before it changes for the first time. REQUIRES: the shard's lock.
  void Preserve(Key key, const Row& row, Shard* shard) const;
  // Creates the row at its initial value, and updates it. REQUIRES: the shard's lock; the key has none.
  void CreateAndUpdate(Key key, const WantedRow& wanted, const float* gradient, StepScales scales);

  const uint32_t index_;
  const TableSpec spec_;
  const uint32_t server_index_;
  SlabArena* const arena_;
  const std::unique_ptr<RowOptimizer> optimizer_;
  const std::unique_ptr<RowInitializer> initializer_;
  const PageLayout page_layout_;
  // Held shared by all who use shards, before any shard's lock; exclusively by who changes what is owned. The vectors' sizes are constant.
  mutable SharedMutex ownership_;
  ShardMap map_ ABSL_GUARDED_BY(ownership_);     // the last one
  Shards shards_;                                // all of the job; null: another server's
  Shards incoming_ ABSL_GUARDED_BY(ownership_);  // received, not gained yet; null: nothing
  std::atomic<uint32_t> frozen_shards_{0};       // changes under the shards' locks
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_TABLE_H_
