#include "client/bag_batch.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace weir::client {

BagRouter::BagRouter(const ShardMap& map, absl::Span<const TableInfo> tables, uint32_t dim)
    : router_(map), tables_(tables), dim_(dim), batch_of_table_(tables.size(), 0) {}

absl::Status BagRouter::Check(uint32_t samples, uint32_t index, const FeatureKeys& feature) const {
  if (feature.table >= tables_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("feature ", index, ": table ", feature.table, " of ", tables_.size(), " does not exist"));
  }
  const TableInfo& table = tables_[feature.table];
  if (table.dim != dim_) {
    return absl::InvalidArgumentError(
        absl::StrCat("feature ", index, ": table ", table.name, " is ", table.dim, " wide, the features are pooled at ", dim_));
  }
  if (feature.ends.empty()) {
    if (feature.keys.size() == samples) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("feature ", index, ": ", feature.keys.size(), " keys for ", samples, " samples, and no ends of bags"));
  }
  if (feature.ends.size() != samples || feature.ends.back() != feature.keys.size()) {
    return absl::InvalidArgumentError(absl::StrCat("feature ", index, ": ", feature.ends.size(), " bags that end at key ",
                                                   feature.ends.back(), " for ", samples, " samples and ", feature.keys.size(), " keys"));
  }
  for (uint32_t i = 1; i < samples; ++i) {
    if (feature.ends[i] < feature.ends[i - 1]) {
      return absl::InvalidArgumentError(absl::StrCat("feature ", index, ": the bag of sample ", i, " ends before it starts"));
    }
  }
  return absl::OkStatus();
}

void BagRouter::Place(absl::Span<const FeatureKeys> features, BagBatch* out) {
  std::vector<uint32_t> sizes;
  out->features.resize(features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    uint32_t& batch = batch_of_table_[features[i].table];
    if (batch == 0) {
      sizes.push_back(0);
      batch = static_cast<uint32_t>(sizes.size());
      if (out->tables.size() < sizes.size()) out->tables.emplace_back();
      out->tables[sizes.size() - 1].table = features[i].table;
    }
    FeaturePlace& place = out->features[i];
    place.batch = batch - 1;
    place.first = sizes[batch - 1];
    place.ends = features[i].ends;
    sizes[batch - 1] += static_cast<uint32_t>(features[i].keys.size());
  }
  out->tables.resize(sizes.size());
  for (const FeatureKeys& feature : features) batch_of_table_[feature.table] = 0;
}

absl::Span<const Key> BagRouter::KeysOf(uint32_t batch, absl::Span<const FeatureKeys> features, const BagBatch& placed) {
  const FeatureKeys* only = nullptr;
  merged_.clear();
  for (size_t i = 0; i < features.size(); ++i) {
    if (placed.features[i].batch != batch) continue;
    if (only == nullptr) {
      only = &features[i];
      continue;
    }
    if (merged_.empty()) merged_.assign(only->keys.begin(), only->keys.end());
    merged_.insert(merged_.end(), features[i].keys.begin(), features[i].keys.end());
  }
  if (merged_.empty()) return only->keys;
  return merged_;
}

absl::Status BagRouter::Route(uint32_t samples, absl::Span<const FeatureKeys> features, KeysSent sent, BagBatch* out) {
  if (samples > kSamplesPerCallMax) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", samples, " samples, at most ", kSamplesPerCallMax, " are allowed"));
  }
  uint64_t keys = 0;
  for (size_t i = 0; i < features.size(); ++i) {
    WEIR_RETURN_IF_ERROR(Check(samples, static_cast<uint32_t>(i), features[i]));
    keys += features[i].keys.size();
  }
  if (keys >= uint64_t{1} << 31) return absl::InvalidArgumentError(absl::StrCat("a batch of ", keys, " keys, fewer than 2^31 are allowed"));
  out->samples = samples;
  Place(features, out);
  out->rows = 0;
  for (uint32_t batch = 0; batch < out->tables.size(); ++batch) {
    TableBatch& table = out->tables[batch];
    const absl::Span<const Key> table_keys = KeysOf(batch, features, *out);
    if (sent == KeysSent::kUnique) {
      router_.RouteUnique(table.table, table_keys, &table.keys);
    } else {
      router_.RouteAll(table.table, table_keys, &table.keys);
    }
    table.first_row = out->rows;
    out->rows += table.keys.keys.size();
  }
  return absl::OkStatus();
}

}  // namespace weir::client
