#include "server/table/table.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/optimizer/row_optimizer_registry.h"
#include "xxhash.h"

namespace weir::server {
namespace {

// Keys that are grouped by shard at a time: enough that a lock serves several of them, few enough that what is read and written for them
// stays in the second cache.
constexpr size_t kBlockKeys = 4096;
// Keys and shards that are worked on under one set of locks. ThreadSanitizer follows at most 64 locks held at a time.
constexpr size_t kWindowKeys = 512;
constexpr uint32_t kWindowShards = 32;
// Rows that one optimizer call updates.
constexpr size_t kUpdateRows = 64;

// memcpy of a whole number of lines without a call: most rows are.
void CopyRow(const float* from, uint32_t dim, float* to) {
  constexpr uint32_t kLineFloats = 16;
  if (dim % kLineFloats != 0) {
    std::memcpy(to, from, dim * sizeof(float));
    return;
  }
  for (uint32_t i = 0; i < dim; i += kLineFloats) std::memcpy(to + i, from + i, kLineFloats * sizeof(float));
}

}  // namespace

// What a call needs for one block after another. Not initialised: it is written before it is read.
struct Table::Block {
  size_t size;
  WantedRow unordered[kBlockKeys];
  WantedRow placed[kBlockKeys];  // grouped by shard, in ascending order
  std::vector<uint32_t> ends;    // for each shard, where its keys end in `placed`
};

// The locks of a window's shards. They are taken in ascending order, so two windows cannot wait for each other.
class Table::WindowLock {
 public:
  // The window begins at `begin` and ends before it would have too many shards or keys.
  WindowLock(const std::vector<std::unique_ptr<Shard>>& shards, const Block& block, size_t begin) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const size_t end_max = std::min(block.size, begin + kWindowKeys);
    size_t end = begin;
    while (end < end_max && count_ < kWindowShards) {
      const uint32_t shard = block.placed[end].shard;
      Mutex* const mu = &shards[shard]->mu;
      mu->Lock();
      held_[count_++] = mu;
      end = std::min<size_t>(block.ends[shard], end_max);
    }
    window_ = absl::MakeConstSpan(block.placed + begin, end - begin);
  }
  ~WindowLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    while (count_ > 0) held_[--count_]->Unlock();
  }
  WindowLock(const WindowLock&) = delete;
  WindowLock& operator=(const WindowLock&) = delete;

  absl::Span<const WantedRow> window() const { return window_; }

 private:
  absl::Span<const WantedRow> window_;
  uint32_t count_ = 0;
  Mutex* held_[kWindowShards];
};

absl::StatusOr<std::unique_ptr<Table>> Table::Create(uint32_t index, TableSpec spec, uint64_t seed, ShardPlace place, SlabArena* arena) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RowOptimizer> optimizer, MakeRowOptimizer(spec.optimizer, spec.dim));
  InitializerStream stream;
  stream.seed = seed;
  stream.table = index;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RowInitializer> initializer, MakeRowInitializer(spec.initializer, stream));
  return std::unique_ptr<Table>(new Table(index, std::move(spec), std::move(place), arena, std::move(optimizer), std::move(initializer)));
}

Table::Table(uint32_t index, TableSpec spec, ShardPlace place, SlabArena* arena, std::unique_ptr<RowOptimizer> optimizer,
             std::unique_ptr<RowInitializer> initializer)
    : index_(index),
      spec_(std::move(spec)),
      server_index_(place.server_index),
      arena_(arena),
      optimizer_(std::move(optimizer)),
      initializer_(std::move(initializer)),
      page_layout_(RowLayout{spec_.dim, optimizer_->slot_floats()}),
      map_(std::move(place.map)),
      shards_(map_.shard_count()),
      incoming_(map_.shard_count()) {
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    if (Owns(map_, shard)) shards_[shard] = NewShard();
  }
}

absl::Status Table::NotOwned(uint32_t position, Key key, uint32_t shard) const {
  return absl::InvalidArgumentError(absl::StrCat("table ", spec_.name, ": key ", key, " at ", position, " is of shard ", shard,
                                                 " of server ", OwnerOf(map_, shard), ", but this is server ", server_index_, " (",
                                                 ToString(map_), "): route keys by the shard map"));
}

absl::Status Table::CheckOwned(absl::Span<const Key> keys) const {
  const ReaderMutexLock ownership(&ownership_);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t shard = ShardOfKey(index_, keys[i], shard_count());
    if (shards_[shard] == nullptr) return NotOwned(static_cast<uint32_t>(i), keys[i], shard);
  }
  return absl::OkStatus();
}

absl::Status Table::Place(absl::Span<const Key> keys, size_t first, Block* block) const {
  const ShardDivider divider(shard_count());
  const uint32_t table = index_;
  const std::unique_ptr<Shard>* const shards = shards_.data();
  std::vector<uint32_t>& ends = block->ends;
  ends.assign(shards_.size() + 1, 0);
  for (size_t i = 0; i < block->size; ++i) {
    const auto position = static_cast<uint32_t>(first + i);
    const uint64_t hash = Mix64(table, keys[position]);  // as in ShardOfKey, whose hash the index shares
    const uint32_t shard = divider.ShardOf(hash);
    if (shards[shard] == nullptr) return NotOwned(position, keys[position], shard);
    block->unordered[i] = {position, shard, RowStore::StoreHash(hash)};
    ++ends[shard + 1];
  }
  for (size_t shard = 1; shard < ends.size(); ++shard) ends[shard] += ends[shard - 1];
  for (size_t i = 0; i < block->size; ++i) block->placed[ends[block->unordered[i].shard]++] = block->unordered[i];
  return absl::OkStatus();
}

template <typename Work>
absl::Status Table::ForEachWindow(absl::Span<const Key> keys, Work work) const {
  const std::unique_ptr<Block> block(new Block);
  const ReaderMutexLock ownership(&ownership_);
  for (size_t first = 0; first < keys.size(); first += kBlockKeys) {
    block->size = std::min(kBlockKeys, keys.size() - first);
    WEIR_RETURN_IF_ERROR(Place(keys, first, block.get()));
    for (size_t begin = 0; begin < block->size;) {
      const WindowLock lock(shards_, *block, begin);
      work(lock.window());
      begin += lock.window().size();
    }
  }
  return absl::OkStatus();
}

template <TouchedPart touched, typename Visit>
void Table::ForEachRow(absl::Span<const Key> keys, absl::Span<const WantedRow> window, Visit visit) const {
  FindRows<touched>(
      page_layout_, window, [&keys](const WantedRow& wanted) { return keys[wanted.position]; },
      [shards = shards_.data()](const WantedRow& wanted) { return &shards[wanted.shard]->rows; }, visit);
}

absl::StatusOr<uint32_t> Table::Lookup(absl::Span<const Key> keys, absl::Span<float> rows, std::vector<uint32_t>* missing_out) const {
  std::vector<uint32_t> missing;
  WEIR_RETURN_IF_ERROR(ForEachWindow(keys, [&](absl::Span<const WantedRow> window) {
    ForEachRow<TouchedPart::kWeights>(keys, window, [&](const WantedRow& key, const Row& row) {
      if (row.weights == nullptr) {
        missing.push_back(key.position);
      } else {
        CopyRow(row.weights, dim(), rows.data() + size_t{key.position} * dim());
      }
    });
  }));
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
  const uint32_t slot_floats = optimizer_->slot_floats();
  std::vector<float> slots(keys.size() * slot_floats);
  std::vector<RowUpdate> updates(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) updates[i] = {&rows[i * dim()], slots.data() + i * slot_floats, &gradients[i * dim()]};
  WEIR_RETURN_IF_ERROR(ForEachWindow(keys, [&](absl::Span<const WantedRow> window) {
    ForEachRow<TouchedPart::kAll>(keys, window, [&](const WantedRow& key, const Row& row) {
      const RowUpdate& update = updates[key.position];
      if (row.weights == nullptr) {
        initializer_->Fill(keys[key.position], absl::MakeSpan(update.weights, dim()));
        optimizer_->InitializeSlots(absl::MakeSpan(update.slots, slot_floats));
      } else {
        std::copy_n(row.weights, dim(), update.weights);
        std::copy_n(row.slots, slot_floats, update.slots);
      }
    });
  }));
  const auto untouched = [this](const RowUpdate& update) {
    return std::all_of(update.gradient, update.gradient + dim(), [](float g) { return g == 0; });
  };
  updates.erase(std::remove_if(updates.begin(), updates.end(), untouched), updates.end());
  optimizer_->Update(updates, scales);
  return absl::OkStatus();
}

void Table::CreateAndUpdate(Key key, const WantedRow& wanted, const float* gradient, StepScales scales) {
  Shard& shard = *shards_[wanted.shard];
  if (shard.frozen != nullptr) shard.frozen->added.insert(key);
  const Row row = shard.rows.Insert(key, wanted.hash);
  initializer_->Fill(key, absl::MakeSpan(row.weights, dim()));
  optimizer_->InitializeSlots(absl::MakeSpan(row.slots, optimizer_->slot_floats()));
  const RowUpdate update = {row.weights, row.slots, gradient};
  optimizer_->Update({&update, 1}, scales);
}

void Table::Apply(absl::Span<const Key> keys, absl::Span<const float> gradients, StepScales scales) {
  const auto gradient_of = [&](const WantedRow& key) { return gradients.data() + size_t{key.position} * dim(); };
  RowUpdate updates[kUpdateRows];
  std::vector<WantedRow> missing;
  const bool frozen = frozen_shards_.load(std::memory_order_relaxed) > 0;
  const absl::Status owned = ForEachWindow(keys, [&](absl::Span<const WantedRow> window) {
    size_t count = 0;
    missing.clear();
    ForEachRow<TouchedPart::kAll>(keys, window, [&](const WantedRow& key, const Row& row) {
      if (row.weights == nullptr) {
        missing.push_back(key);
        return;
      }
      if (frozen) Preserve(keys[key.position], row, shards_[key.shard].get());
      updates[count++] = {row.weights, row.slots, gradient_of(key)};
      if (count < kUpdateRows) return;
      optimizer_->Update(updates, scales);
      count = 0;
    });
    optimizer_->Update(absl::MakeSpan(updates, count), scales);
    // Only now: a new row may move others.
    for (const WantedRow& key : missing) CreateAndUpdate(keys[key.position], key, gradient_of(key), scales);
  });
  assert(owned.ok());
}

void Table::Freeze() {
  const ReaderMutexLock ownership(&ownership_);
  for (const std::unique_ptr<Shard>& shard : shards_) {
    if (shard == nullptr) continue;
    MutexLock lock(&shard->mu);
    if (shard->frozen == nullptr) frozen_shards_.fetch_add(1, std::memory_order_relaxed);
    shard->frozen = std::make_unique<Frozen>();
  }
}

void Table::Thaw() {
  const ReaderMutexLock ownership(&ownership_);
  for (const std::unique_ptr<Shard>& shard : shards_) {
    if (shard == nullptr) continue;
    MutexLock lock(&shard->mu);
    if (shard->frozen == nullptr) continue;
    shard->frozen = nullptr;
    frozen_shards_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Table::Preserve(Key key, const Row& row, Shard* shard) const {
  Frozen* const frozen = shard->frozen.get();
  if (frozen == nullptr || frozen->added.contains(key)) return;
  if (!frozen->row_of.emplace(key, frozen->rows.keys.size()).second) return;
  frozen->rows.keys.push_back(key);
  std::vector<float>& values = frozen->rows.values;
  values.insert(values.end(), row.weights, row.weights + page_layout_.row().weights);
  values.insert(values.end(), row.slots, row.slots + page_layout_.row().slots);
}

void Table::CopyShard(uint32_t index, RowBatch* rows) {
  rows->keys.clear();
  rows->values.clear();
  const ReaderMutexLock ownership(&ownership_);
  if (shards_[index] == nullptr) return;
  Shard& shard = *shards_[index];
  MutexLock lock(&shard.mu);
  const std::unique_ptr<Frozen> frozen = std::move(shard.frozen);
  assert(frozen != nullptr);
  frozen_shards_.fetch_sub(1, std::memory_order_relaxed);
  CopyRowsOf(shard, frozen.get(), rows);
}

void Table::CopyRows(uint32_t index, RowBatch* rows) const {
  rows->keys.clear();
  rows->values.clear();
  const ReaderMutexLock ownership(&ownership_);
  if (shards_[index] == nullptr) return;
  MutexLock lock(&shards_[index]->mu);
  CopyRowsOf(*shards_[index], nullptr, rows);
}

void Table::CopyRowsOf(const Shard& shard, const Frozen* frozen, RowBatch* rows) const {
  rows->keys.reserve(shard.rows.rows());
  rows->values.reserve(shard.rows.rows() * row_floats());
  shard.rows.ForEach([&](Key key, absl::Span<const float> weights, absl::Span<const float> slots) {
    // Most shards are copied before much of them has changed.
    if (frozen != nullptr && !frozen->added.empty() && frozen->added.contains(key)) return;
    rows->keys.push_back(key);
    if (frozen != nullptr) {
      if (const auto changed = frozen->row_of.find(key); changed != frozen->row_of.end()) {
        const auto first = frozen->rows.values.begin() + static_cast<ptrdiff_t>(changed->second * row_floats());
        rows->values.insert(rows->values.end(), first, first + row_floats());
        return;
      }
    }
    rows->values.insert(rows->values.end(), weights.begin(), weights.end());
    rows->values.insert(rows->values.end(), slots.begin(), slots.end());
  });
}

// REQUIRES: the shard's lock, or nobody else knows it.
void Table::WriteRow(Key key, const float* values, Shard* shard) const {
  const uint32_t hash = RowStore::StoreHash(Mix64(index_, key));
  Row row = shard->rows.Find(key, hash);
  if (row.weights == nullptr) row = shard->rows.Insert(key, hash);
  std::copy_n(values, dim(), row.weights);
  std::copy_n(values + dim(), page_layout_.row().slots, row.slots);
}

void Table::RestoreRows(const RowBatch& rows) {
  const ReaderMutexLock ownership(&ownership_);
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    Shard* const shard = shards_[ShardOfKey(index_, rows.keys[i], shard_count())].get();
    if (shard == nullptr) continue;
    MutexLock lock(&shard->mu);
    WriteRow(rows.keys[i], rows.values.data() + i * row_floats(), shard);
  }
}

void Table::ReceiveRows(const RowBatch& rows) {
  const WriterMutexLock ownership(&ownership_);
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    std::unique_ptr<Shard>& shard = incoming_[ShardOfKey(index_, rows.keys[i], shard_count())];
    if (shard == nullptr) shard = NewShard();
    WriteRow(rows.keys[i], rows.values.data() + i * row_floats(), shard.get());
  }
}

void Table::GainShards(const ShardMap& map) {
  const WriterMutexLock ownership(&ownership_);
  map_ = map;
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    if (shards_[shard] == nullptr && Owns(map, shard)) {
      shards_[shard] = incoming_[shard] == nullptr ? NewShard() : std::move(incoming_[shard]);
    }
    incoming_[shard] = nullptr;
  }
}

void Table::DropShards(const ShardMap& map) {
  const WriterMutexLock ownership(&ownership_);
  map_ = map;
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    if (shards_[shard] == nullptr || Owns(map, shard)) continue;
    if (shards_[shard]->frozen != nullptr) frozen_shards_.fetch_sub(1, std::memory_order_relaxed);
    shards_[shard] = nullptr;
  }
}

TableSize Table::Size() const {
  TableSize size;
  const ReaderMutexLock ownership(&ownership_);
  for (const std::unique_ptr<Shard>& shard : shards_) {
    if (shard == nullptr) continue;
    MutexLock lock(&shard->mu);
    size.rows += shard->rows.rows();
    size.payload_bytes += shard->rows.rows() * page_layout_.row().payload_bytes();
    size.memory_bytes += shard->rows.memory_bytes();
  }
  return size;
}

uint64_t Table::Fingerprint() const {
  uint64_t sum = 0;
  const ReaderMutexLock ownership(&ownership_);
  for (const std::unique_ptr<Shard>& shard : shards_) {
    if (shard == nullptr) continue;
    MutexLock lock(&shard->mu);
    shard->rows.ForEach([&](Key key, absl::Span<const float> weights, absl::Span<const float> slots) {
      const uint64_t of_weights = XXH3_64bits_withSeed(weights.data(), weights.size() * sizeof(float), Mix64(index_, key));
      sum += XXH3_64bits_withSeed(slots.data(), slots.size() * sizeof(float), of_weights);
    });
  }
  return sum;
}

}  // namespace weir::server
