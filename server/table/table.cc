#include "server/table/table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/optimizer/row_optimizer_registry.h"
#include "xxhash.h"

namespace weir::server {
namespace {

constexpr size_t kWindowKeys = 512;
// ThreadSanitizer follows at most 64 locks held at a time.
constexpr uint32_t kWindowShards = 32;
// How many keys each stage of a find runs ahead of the next: enough misses in flight to hide memory latency, few enough that what was
// fetched is still in the first cache when it is used.
constexpr size_t kStageKeys = 16;
// Rows that one optimizer call updates.
constexpr size_t kUpdateRows = 64;

uint32_t FirstShardOf(uint32_t server, uint32_t shard_count, uint32_t server_count) {
  return static_cast<uint32_t>((uint64_t{server} * shard_count + server_count - 1) / server_count);
}

}  // namespace

uint32_t ShardRange::first() const { return FirstShardOf(server_index, shard_count, server_count); }
uint32_t ShardRange::end() const { return FirstShardOf(server_index + 1, shard_count, server_count); }

// The locks of a window's shards. They are taken in ascending order, so two windows cannot wait for each other.
class Table::WindowLock {
 public:
  WindowLock(const std::vector<std::unique_ptr<Shard>>& shards, absl::Span<const PlacedKey> window) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (const PlacedKey& key : window) {
      Mutex* const mu = &shards[key.shard]->mu;
      if (count_ > 0 && held_[count_ - 1] == mu) continue;
      mu->Lock();
      held_[count_++] = mu;
    }
  }
  ~WindowLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    while (count_ > 0) held_[--count_]->Unlock();
  }
  WindowLock(const WindowLock&) = delete;
  WindowLock& operator=(const WindowLock&) = delete;

 private:
  uint32_t count_ = 0;
  Mutex* held_[kWindowShards];
};

absl::StatusOr<std::unique_ptr<Table>> Table::Create(uint32_t index, TableSpec spec, uint64_t seed, ShardRange shards, SlabArena* arena) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RowOptimizer> optimizer, MakeRowOptimizer(spec.optimizer, spec.dim));
  InitializerStream stream;
  stream.seed = seed;
  stream.table = index;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RowInitializer> initializer, MakeRowInitializer(spec.initializer, stream));
  return std::unique_ptr<Table>(new Table(index, std::move(spec), shards, arena, std::move(optimizer), std::move(initializer)));
}

Table::Table(uint32_t index, TableSpec spec, ShardRange range, SlabArena* arena, std::unique_ptr<RowOptimizer> optimizer,
             std::unique_ptr<RowInitializer> initializer)
    : index_(index), spec_(std::move(spec)), range_(range), optimizer_(std::move(optimizer)), initializer_(std::move(initializer)) {
  const RowLayout layout{spec_.dim, optimizer_->slot_floats()};
  shards_.reserve(range_.end() - range_.first());
  for (uint32_t shard = range_.first(); shard < range_.end(); ++shard)
    shards_.push_back(std::make_unique<Shard>(StorePlace{index_, shard}, layout, arena));
}

absl::Status Table::NotOwned(uint32_t position, Key key, uint32_t shard) const {
  return absl::InvalidArgumentError(absl::StrCat("table ", spec_.name, ": key ", key, " at ", position, " is of shard ", shard,
                                                 " of server ", ServerOfShard(shard, range_.shard_count, range_.server_count),
                                                 ", but this is server ", range_.server_index, " of ", range_.server_count, " with ",
                                                 range_.shard_count, " shards in all: route keys by the shard map"));
}

absl::Status Table::CheckOwned(absl::Span<const Key> keys) const {
  const uint32_t first = range_.first();
  const uint32_t count = range_.end() - first;
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t shard = ShardOfKey(index_, keys[i], range_.shard_count);
    if (shard - first >= count) return NotOwned(static_cast<uint32_t>(i), keys[i], shard);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Table::PlacedKey>> Table::Place(absl::Span<const Key> keys) const {
  const uint32_t first = range_.first();
  std::vector<PlacedKey> unordered(keys.size());
  std::vector<uint32_t> ends(shards_.size() + 1, 0);
  for (uint32_t i = 0; i < keys.size(); ++i) {
    const uint64_t hash = Mix64(index_, keys[i]);  // as in ShardOfKey, whose hash the index shares
    const uint32_t shard = static_cast<uint32_t>(hash % range_.shard_count) - first;
    if (shard >= shards_.size()) return NotOwned(i, keys[i], shard + first);
    unordered[i] = {i, shard, RowStore::IndexHash(hash)};
    ++ends[shard + 1];
  }
  for (size_t shard = 1; shard < ends.size(); ++shard) ends[shard] += ends[shard - 1];
  std::vector<PlacedKey> placed(keys.size());
  for (const PlacedKey& key : unordered) placed[ends[key.shard]++] = key;
  return placed;
}

absl::Span<const Table::PlacedKey> Table::NextWindow(absl::Span<const PlacedKey> placed) {
  uint32_t shards = 0;
  size_t size = 0;
  while (size < placed.size() && size < kWindowKeys) {
    const bool new_shard = size == 0 || placed[size].shard != placed[size - 1].shard;
    if (new_shard && ++shards > kWindowShards) break;
    ++size;
  }
  return placed.first(size);
}

template <typename Visit>
void Table::ForEachRow(absl::Span<const Key> keys, absl::Span<const PlacedKey> window, RowStore::Touch touch, Visit visit) const {
  Row found[kStageKeys];  // of the last keys, around a ring
  for (size_t i = 0; i < window.size() + 2 * kStageKeys; ++i) {
    Row& row = found[i % kStageKeys];
    if (i >= 2 * kStageKeys) visit(window[i - 2 * kStageKeys], row);
    if (i >= kStageKeys && i - kStageKeys < window.size()) {
      const PlacedKey& key = window[i - kStageKeys];
      row = shards_[key.shard]->rows.FindAhead(keys[key.position], key.hash, touch);
    }
    if (i < window.size()) shards_[window[i].shard]->rows.PrefetchIndex(window[i].hash);
  }
}

absl::StatusOr<uint32_t> Table::Lookup(absl::Span<const Key> keys, absl::Span<float> rows, std::vector<uint32_t>* missing_out) const {
  WEIR_ASSIGN_OR_RETURN(const std::vector<PlacedKey> placed, Place(keys));
  std::vector<uint32_t> missing;
  for (absl::Span<const PlacedKey> rest = placed; !rest.empty();) {
    const absl::Span<const PlacedKey> window = NextWindow(rest);
    rest.remove_prefix(window.size());
    WindowLock lock(shards_, window);
    ForEachRow(keys, window, RowStore::Touch::kWeights, [&](const PlacedKey& key, const Row& row) {
      if (row.weights == nullptr) {
        missing.push_back(key.position);
      } else {
        std::memcpy(rows.data() + size_t{key.position} * dim(), row.weights, dim() * sizeof(float));
      }
    });
  }
  for (uint32_t position : missing) initializer_->Fill(keys[position], rows.subspan(size_t{position} * dim(), dim()));
  const auto count = static_cast<uint32_t>(missing.size());
  if (missing_out != nullptr) {
    std::sort(missing.begin(), missing.end());
    *missing_out = std::move(missing);
  }
  return count;
}

absl::Status Table::LookupWhatIf(absl::Span<const Key> keys, absl::Span<const float> gradients, StepScales scales,
                                 absl::Span<float> rows) const {
  WEIR_ASSIGN_OR_RETURN(const std::vector<PlacedKey> placed, Place(keys));
  const uint32_t slot_floats = optimizer_->slot_floats();
  std::vector<float> slots(keys.size() * slot_floats);
  std::vector<RowUpdate> updates(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) updates[i] = {&rows[i * dim()], slots.data() + i * slot_floats, &gradients[i * dim()]};
  for (absl::Span<const PlacedKey> rest = placed; !rest.empty();) {
    const absl::Span<const PlacedKey> window = NextWindow(rest);
    rest.remove_prefix(window.size());
    WindowLock lock(shards_, window);
    ForEachRow(keys, window, RowStore::Touch::kAll, [&](const PlacedKey& key, const Row& row) {
      const RowUpdate& update = updates[key.position];
      if (row.weights == nullptr) {
        initializer_->Fill(keys[key.position], absl::MakeSpan(update.weights, dim()));
        optimizer_->InitializeSlots(absl::MakeSpan(update.slots, slot_floats));
      } else {
        std::copy_n(row.weights, dim(), update.weights);
        std::copy_n(row.slots, slot_floats, update.slots);
      }
    });
  }
  const auto untouched = [this](const RowUpdate& update) {
    return std::all_of(update.gradient, update.gradient + dim(), [](float g) { return g == 0; });
  };
  updates.erase(std::remove_if(updates.begin(), updates.end(), untouched), updates.end());
  optimizer_->Update(updates, scales);
  return absl::OkStatus();
}

Row Table::CreateRow(Key key, const PlacedKey& placed) {
  const Row row = shards_[placed.shard]->rows.Insert(key, placed.hash);
  initializer_->Fill(key, absl::MakeSpan(row.weights, dim()));
  optimizer_->InitializeSlots(absl::MakeSpan(row.slots, optimizer_->slot_floats()));
  return row;
}

void Table::Apply(absl::Span<const Key> keys, absl::Span<const float> gradients, StepScales scales) {
  const std::vector<PlacedKey> placed = *Place(keys);
  RowUpdate updates[kUpdateRows];
  for (absl::Span<const PlacedKey> rest = placed; !rest.empty();) {
    const absl::Span<const PlacedKey> window = NextWindow(rest);
    rest.remove_prefix(window.size());
    WindowLock lock(shards_, window);
    size_t count = 0;
    ForEachRow(keys, window, RowStore::Touch::kAll, [&](const PlacedKey& key, const Row& found) {
      const Row row = found.weights != nullptr ? found : CreateRow(keys[key.position], key);
      updates[count++] = {row.weights, row.slots, gradients.data() + size_t{key.position} * dim()};
      if (count < kUpdateRows) return;
      optimizer_->Update(updates, scales);
      count = 0;
    });
    optimizer_->Update(absl::MakeSpan(updates, count), scales);
  }
}

TableSize Table::Size() const {
  TableSize size;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    MutexLock lock(&shard->mu);
    size.rows += shard->rows.rows();
    size.payload_bytes += shard->rows.rows() * shard->rows.layout().payload_bytes();
    size.memory_bytes += shard->rows.memory_bytes();
  }
  return size;
}

uint64_t Table::Fingerprint() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    MutexLock lock(&shard->mu);
    shard->rows.ForEach([&](Key key, absl::Span<const float> weights, absl::Span<const float> slots) {
      const uint64_t of_weights = XXH3_64bits_withSeed(weights.data(), weights.size() * sizeof(float), Mix64(index_, key));
      sum += XXH3_64bits_withSeed(slots.data(), slots.size() * sizeof(float), of_weights);
    });
  }
  return sum;
}

}  // namespace weir::server
