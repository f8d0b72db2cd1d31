#include "client/held_rows.h"

#include <algorithm>

namespace weir::client {

HeldTables::HeldTables(uint32_t tables, uint32_t servers, uint32_t dim, uint64_t rows_max, uint32_t generation)
    : servers_(servers), dim_(dim), rows_max_(rows_max), owned_(size_t{tables} * servers) {
  for (Owned& owned : owned_) owned.generation = generation;
}

uint32_t HeldTables::latest_generation() const {
  uint32_t latest = 0;
  for (const Owned& owned : owned_) latest = std::max(latest, owned.generation);
  return latest;
}

void HeldTables::BeginAnew() {
  for (Owned& owned : owned_) BeginAnew(&owned);
}

void HeldTables::BeginAnew(Owned* owned) {
  ++owned->generation;
  owned->number_of.clear();
  owned->values = std::make_shared<HeldValues>();
}

HeldRange HeldTables::PlaceRange(Owned* owned, const RoutedKeys& keys, uint32_t begin, uint32_t end) {
  known_.clear();
  added_.clear();
  for (uint32_t slot = begin; slot < end; ++slot) {
    const auto it = owned->number_of.find(keys.keys[slot]);
    if (it == owned->number_of.end()) {
      added_.push_back(slot);
    } else {
      known_.push_back({it->second, slot});
    }
  }
  if (owned->number_of.size() + added_.size() > rows_max_) {
    BeginAnew(owned);
    known_.clear();
    added_.resize(end - begin);
    for (uint32_t slot = begin; slot < end; ++slot) added_[slot - begin] = slot;
  }
  std::sort(known_.begin(), known_.end(), [](const NumberedSlot& a, const NumberedSlot& b) { return a.number < b.number; });
  HeldRange range;
  range.generation = owned->generation;
  range.first_new = static_cast<uint32_t>(owned->number_of.size());
  range.begin_new = begin + static_cast<uint32_t>(known_.size());
  range.values = owned->values;
  for (const NumberedSlot& slot : known_) {
    order_.push_back(slot.slot);
    numbers_.push_back(slot.number);
  }
  for (const uint32_t slot : added_) {
    const auto number = static_cast<uint32_t>(owned->number_of.size());
    owned->number_of.emplace(keys.keys[slot], number);
    order_.push_back(slot);
    numbers_.push_back(number);
  }
  range.values->resize(owned->number_of.size() * dim_);
  return range;
}

void HeldTables::Place(const std::function<bool(uint32_t table)>& holds, BagBatch* batch, std::vector<HeldTableBatch>* held) {
  held->resize(batch->tables.size());
  for (size_t i = 0; i < batch->tables.size(); ++i) {
    TableBatch& table = batch->tables[i];
    HeldTableBatch& placed = (*held)[i];
    placed.ranges.clear();
    if (!holds(table.table)) continue;
    order_.clear();
    numbers_.clear();
    for (uint32_t server = 0; server < servers_; ++server) {
      placed.ranges.push_back(PlaceRange(&owned_[size_t{table.table} * servers_ + server], table.keys, table.keys.server_begin(server),
                                         table.keys.server_ends[server]));
    }
    keys_.resize(order_.size());
    new_slot_.resize(order_.size());
    for (size_t slot = 0; slot < order_.size(); ++slot) {
      keys_[slot] = table.keys.keys[order_[slot]];
      new_slot_[order_[slot]] = static_cast<uint32_t>(slot);
    }
    table.keys.keys.swap(keys_);
    placed.numbers = numbers_;
    for (uint32_t& slot : table.keys.slot_of) slot = new_slot_[slot];
  }
}

}  // namespace weir::client
