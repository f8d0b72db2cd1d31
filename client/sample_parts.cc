#include "client/sample_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "client/row_calls.h"
#include "compression/key_codec.h"

namespace weir::client {
namespace {

// A key of a bag in a request: its place in TableKeys takes at most this much for the batches that fit a call.
constexpr double kIndexBytes = 3;
constexpr double kKeyBytes = 8;

// Slots [begin, end) of a table that a server owns.
struct SlotRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool Has(uint32_t slot) const { return slot >= begin && slot < end; }
};

SlotRange RangeOf(const TableBatch& table, uint32_t server) { return {table.keys.server_begin(server), table.keys.server_ends[server]}; }

// Calls visit(slot) for each key that the server owns of the bag of `sample`.
template <typename Visit>
void ForEachSlot(const BagBatch& batch, uint32_t feature, uint32_t sample, uint32_t server, Visit visit) {
  const FeaturePlace& place = batch.features[feature];
  const TableBatch& table = batch.tables[place.batch];
  const SlotRange range = RangeOf(table, server);
  for (uint32_t i = place.bag_begin(sample); i < place.bag_end(sample); ++i) {
    const uint32_t slot = table.keys.slot_of[i];
    if (range.Has(slot)) visit(slot);
  }
}

// Bytes that each sample adds to a call to the server.
std::vector<double> SampleBytes(const BagBatch& batch, uint32_t server, const SampleSplit& split) {
  std::vector<double> bytes(batch.samples, 0);
  for (uint32_t feature = 0; feature < batch.features.size(); ++feature) {
    for (uint32_t sample = 0; sample < batch.samples; ++sample) {
      uint32_t keys = 0;
      ForEachSlot(batch, feature, sample, server, [&keys](uint32_t) { ++keys; });
      // The larger of request and reply would do; their sum is simple and never below it.
      if (keys > 0) bytes[sample] += split.bag_bytes + keys * (kKeyBytes + kIndexBytes);
    }
  }
  return bytes;
}

// Index in part->tables of each table of the batch; -1: the part has none of its keys. `local_of_slot` gets each slot's place.
std::vector<int> CollectKeys(const BagBatch& batch, SamplePart* part, std::vector<std::vector<uint32_t>>* local_of_slot) {
  const uint32_t server = part->call.server;
  local_of_slot->resize(batch.tables.size());
  for (size_t i = 0; i < batch.tables.size(); ++i) (*local_of_slot)[i].assign(batch.tables[i].keys.keys.size(), 0);
  for (uint32_t feature = 0; feature < batch.features.size(); ++feature) {
    std::vector<uint32_t>& used = (*local_of_slot)[batch.features[feature].batch];
    for (uint32_t sample = part->sample_begin; sample < part->sample_end; ++sample) {
      ForEachSlot(batch, feature, sample, server, [&used](uint32_t slot) { used[slot] = 1; });
    }
  }
  std::vector<int> index_of_batch(batch.tables.size(), -1);
  for (uint32_t i = 0; i < batch.tables.size(); ++i) {
    std::vector<uint32_t>& locals = (*local_of_slot)[i];
    PartTable table{i, {}};
    const SlotRange range = RangeOf(batch.tables[i], server);
    for (uint32_t slot = range.begin; slot < range.end; ++slot) {
      if (locals[slot] == 0) continue;
      locals[slot] = static_cast<uint32_t>(table.slots.size());
      table.slots.push_back(slot);
    }
    if (table.slots.empty()) continue;
    index_of_batch[i] = static_cast<int>(part->tables.size());
    part->tables.push_back(std::move(table));
  }
  return index_of_batch;
}

std::vector<Key> KeysOf(const BagBatch& batch, const PartTable& table) {
  std::vector<Key> keys;
  keys.reserve(table.slots.size());
  for (const uint32_t slot : table.slots) keys.push_back(batch.tables[table.batch].keys.keys[slot]);
  return keys;
}

}  // namespace

absl::StatusOr<std::vector<SamplePart>> SplitSamples(const BagBatch& batch, const SampleSplit& split) {
  std::vector<SamplePart> parts;
  for (uint32_t server = 0; server < split.server_count; ++server) {
    const size_t first = parts.size();
    const std::vector<double> bytes = SampleBytes(batch, server, split);
    double total = 0;
    SamplePart part;
    part.call.server = server;
    for (uint32_t sample = 0; sample < batch.samples; ++sample) {
      if (total > 0 && total + bytes[sample] > split.call_bytes_target) {
        parts.push_back(part);
        ++part.call.part;
        part.sample_begin = sample;
        total = 0;
      }
      total += bytes[sample];
      part.sample_end = sample + 1;
    }
    parts.push_back(part);
    const uint32_t count = part.call.part + 1;
    if (count > kPartsMax) {
      return absl::ResourceExhaustedError(absl::StrCat("the samples of this step need ", count, " calls to server ", server, ", at most ",
                                                       kPartsMax, " are allowed: use smaller batches"));
    }
    for (size_t i = first; i < parts.size(); ++i) parts[i].call.parts = count;
  }
  return parts;
}

void FillPart(const BagBatch& batch, SamplePart* part, LookupRequest* request) {
  std::vector<std::vector<uint32_t>> local_of_slot;
  const std::vector<int> index_of_batch = CollectKeys(batch, part, &local_of_slot);
  for (const PartTable& table : part->tables) {
    EncodeKeys(batch.tables[table.batch].table, KeysOf(batch, table), TableKeys::CODING_SORTED_DELTA, request->add_tables());
  }
  const uint32_t samples = part->sample_end - part->sample_begin;
  const uint32_t features = static_cast<uint32_t>(batch.features.size());
  request->set_samples(samples);
  std::vector<uint32_t> counts(samples);
  std::vector<uint32_t> indices;
  std::vector<uint8_t> filled(size_t{samples} * features, 0);
  for (uint32_t feature = 0; feature < features; ++feature) {
    const uint32_t table = batch.features[feature].batch;
    indices.clear();
    for (uint32_t i = 0; i < samples; ++i) {
      const size_t before = indices.size();
      ForEachSlot(batch, feature, part->sample_begin + i, part->call.server,
                  [&](uint32_t slot) { indices.push_back(local_of_slot[table][slot]); });
      counts[i] = static_cast<uint32_t>(indices.size() - before);
      filled[size_t{i} * features + feature] = counts[i] > 0;
    }
    if (indices.empty()) continue;
    FeatureBags* const bags = request->add_bags();
    bags->set_table_slot(static_cast<uint32_t>(index_of_batch[table]));
    compression::EncodeVarints(counts, bags->mutable_counts());
    compression::EncodeVarints(indices, bags->mutable_indices());
  }
  for (size_t i = 0; i < filled.size(); ++i) {
    if (filled[i] != 0) part->bags.push_back(static_cast<uint32_t>(part->sample_begin * features + i));
  }
}

std::vector<std::vector<float>> RowGradientsOf(const BagBatch& batch, const SamplePart& part, uint32_t dim, absl::Span<const uint32_t> mask,
                                               absl::Span<const float> values) {
  std::vector<int> index_of_batch(batch.tables.size(), -1);
  std::vector<std::vector<float>> gradients;
  for (const PartTable& table : part.tables) {
    index_of_batch[table.batch] = static_cast<int>(gradients.size());
    gradients.emplace_back(table.slots.size() * dim, 0.0f);
  }
  const uint32_t features = static_cast<uint32_t>(batch.features.size());
  for (size_t i = 0; i < mask.size(); ++i) {
    const uint32_t bag = part.bags[mask[i] / dim];
    const uint32_t column = mask[i] % dim;
    const int index = index_of_batch[batch.features[bag % features].batch];
    const std::vector<uint32_t>& slots = part.tables[index].slots;
    ForEachSlot(batch, bag % features, bag / features, part.call.server, [&](uint32_t slot) {
      const size_t row = std::lower_bound(slots.begin(), slots.end(), slot) - slots.begin();
      gradients[index][row * dim + column] += values[i];
    });
  }
  return gradients;
}

}  // namespace weir::client
