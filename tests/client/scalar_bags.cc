#include "tests/client/scalar_bags.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace weir::client {

std::vector<FeatureKeys> DrawFeatures(uint32_t samples, std::mt19937_64* random) {
  std::vector<FeatureKeys> features(3);
  features[1].table = features[2].table = 1;
  for (uint32_t i = 0; i < samples; ++i) {
    features[0].keys.push_back(i % 7 == 0 ? ~Key{0} : (*random)() % 15);
    features[1].keys.push_back((*random)() % 40);
    for (uint64_t keys = (*random)() % 4; keys > 0; --keys) features[2].keys.push_back((*random)() % 40);
    features[2].ends.push_back(static_cast<uint32_t>(features[2].keys.size()));
  }
  return features;
}

std::vector<float> DrawGradient(size_t size, std::mt19937_64* random) {
  std::vector<float> gradient(size);
  for (float& value : gradient) value = static_cast<float>(static_cast<int>((*random)() % 33) - 16) / 64;
  return gradient;
}

ScalarBags::ScalarBags(uint32_t dim, ShardMap map)
    : ScalarBags(dim, map, [dim](uint32_t table, Key key) {
        std::vector<float> row(dim);
        for (uint32_t column = 0; column < dim; ++column) row[column] = FakeInitialValue(table, key, column);
        return row;
      }) {}

std::vector<float> ScalarBags::Row(uint32_t table, Key key) const {
  const auto found = rows_.find({table, key});
  if (found != rows_.end()) return found->second;
  return initial_(table, key);
}

std::vector<ScalarBags::Part> ScalarBags::PartsOf(uint32_t sample, uint32_t server, const std::vector<FeatureKeys>& features,
                                                  double sparsity) const {
  std::vector<Part> parts;
  std::vector<float> magnitudes;
  for (uint32_t feature = 0; feature < features.size(); ++feature) {
    const FeatureKeys& from = features[feature];
    Part part{feature, {}, std::vector<float>(dim_, 0.0f), std::vector<bool>(dim_, true)};
    const uint32_t begin = from.ends.empty() ? sample : sample == 0 ? 0 : from.ends[sample - 1];
    const uint32_t end = from.ends.empty() ? sample + 1 : from.ends[sample];
    for (uint32_t i = begin; i < end; ++i) {
      if (OwnerOf(map_, from.table, from.keys[i]) != server) continue;
      part.keys.push_back(from.keys[i]);
      const std::vector<float> row = Row(from.table, from.keys[i]);
      for (uint32_t column = 0; column < dim_; ++column) part.sum[column] += row[column];
    }
    if (part.keys.empty()) continue;
    for (const float value : part.sum) magnitudes.push_back(std::abs(value));
    parts.push_back(std::move(part));
  }
  if (sparsity < 0) return parts;
  std::sort(magnitudes.begin(), magnitudes.end());
  const size_t rank = static_cast<size_t>(std::floor(magnitudes.size() * sparsity));
  const float threshold = rank == 0 ? 0 : magnitudes[rank - 1];
  for (Part& part : parts) {
    for (uint32_t column = 0; column < dim_; ++column) {
      part.kept[column] = std::abs(part.sum[column]) >= threshold && part.sum[column] != 0;
    }
  }
  return parts;
}

std::vector<float> ScalarBags::Pool(uint32_t samples, const std::vector<FeatureKeys>& features, double sparsity) {
  std::vector<float> pooled(samples * features.size() * dim_, 0.0f);
  for (uint32_t sample = 0; sample < samples; ++sample) {
    for (uint32_t server = 0; server < ServersOf(map_); ++server) {
      for (const Part& part : PartsOf(sample, server, features, sparsity)) {
        for (uint32_t column = 0; column < dim_; ++column) {
          if (part.kept[column]) pooled[(sample * features.size() + part.feature) * dim_ + column] += part.sum[column];
        }
      }
    }
  }
  return pooled;
}

void ScalarBags::AddGradients(uint32_t samples, const std::vector<FeatureKeys>& features, const std::vector<float>& gradient,
                              double sparsity) {
  for (uint32_t sample = 0; sample < samples; ++sample) {
    for (uint32_t server = 0; server < ServersOf(map_); ++server) {
      for (const Part& part : PartsOf(sample, server, features, sparsity)) {
        for (const Key key : part.keys) {
          std::vector<float>& sum = sums_[{features[part.feature].table, key}];
          sum.resize(dim_);
          for (uint32_t column = 0; column < dim_; ++column) {
            if (part.kept[column]) sum[column] += gradient[(sample * features.size() + part.feature) * dim_ + column];
          }
        }
      }
    }
  }
}

void ScalarBags::Update(float rate) {
  for (const auto& [place, sum] : sums_) {
    std::vector<float> row = Row(place.first, place.second);
    for (uint32_t column = 0; column < dim_; ++column) row[column] -= rate * sum[column];
    rows_[place] = std::move(row);
  }
  sums_.clear();
}

std::string ScalarBags::Differences(const RowMap& served, float tolerance) const {
  for (const auto& [place, row] : rows_) {
    const auto found = served.find(place);
    if (found == served.end()) return absl::StrCat("no row of key ", place.second, " of table ", place.first);
    for (uint32_t column = 0; column < dim_; ++column) {
      if (!(std::abs(found->second[column] - row[column]) <= tolerance)) {
        return absl::StrCat("key ", place.second, " of table ", place.first, ", column ", column, ": ", found->second[column], ", not ",
                            row[column]);
      }
    }
  }
  for (const auto& [place, row] : served) {
    if (rows_.count(place) == 0) return absl::StrCat("a row of key ", place.second, " of table ", place.first);
  }
  return "";
}

}  // namespace weir::client
