#include "server/service/sample_scope.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/key_codec.h"
#include "compression/threshold.h"

namespace weir::server {
namespace {

absl::Status Wrong(absl::string_view field, absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat(field, ": ", what)); }

}  // namespace

template <typename Visit, typename SampleEnd>
void SampleScope::ForEachBag(Visit visit, SampleEnd sample_end) const {
  std::vector<size_t> next(features_.size(), 0);  // in indices, by feature
  uint32_t entry = 0;
  for (uint32_t sample = 0; sample < samples_; ++sample) {
    for (size_t feature = 0; feature < features_.size(); ++feature) {
      const Bags& bags = features_[feature];
      const uint32_t count = bags.counts[sample];
      if (count == 0) continue;
      visit(bags, absl::MakeConstSpan(bags.indices).subspan(next[feature], count), entry);
      next[feature] += count;
      entry += bags.dim;
    }
    sample_end();
  }
}

absl::StatusOr<SampleScope::Bags> SampleScope::DecodeBags(const FeatureBags& encoded, uint32_t samples, absl::Span<const CallKeys> tables) {
  if (encoded.table_slot() >= tables.size()) {
    return Wrong("table_slot", absl::StrCat(encoded.table_slot(), ", but the call has ", tables.size(), " tables"));
  }
  const CallKeys& keys = tables[encoded.table_slot()];
  Bags bags;
  bags.slot = encoded.table_slot();
  bags.dim = keys.table->dim();
  absl::StatusOr<std::vector<uint32_t>> counts = compression::DecodeVarints(encoded.counts(), samples);
  if (!counts.ok()) return Wrong("counts", counts.status().message());
  bags.counts = *std::move(counts);
  uint64_t total = 0;
  for (uint32_t count : bags.counts) total += count;
  if (total > kKeysPerTableCallMax) {
    return absl::ResourceExhaustedError(absl::StrCat("counts: ", total, " keys in the bags, at most ", kKeysPerTableCallMax));
  }
  absl::StatusOr<std::vector<uint32_t>> indices = compression::DecodeVarints(encoded.indices(), static_cast<uint32_t>(total));
  if (!indices.ok()) return Wrong("indices", indices.status().message());
  bags.indices = *std::move(indices);
  for (size_t i = 0; i < bags.indices.size(); ++i) {
    if (bags.indices[i] >= keys.keys.size()) {
      return Wrong("indices", absl::StrCat("index ", bags.indices[i], " at ", i, ", but table ", keys.table->spec().name, " has ",
                                           keys.keys.size(), " keys in this call"));
    }
  }
  return bags;
}

absl::StatusOr<SampleScope> SampleScope::Decode(const LookupRequest& request, absl::Span<const CallKeys> tables) {
  SampleScope scope;
  if (request.samples() > kSamplesPerCallMax) {
    return absl::ResourceExhaustedError(absl::StrCat("samples: ", request.samples(), ", at most ", kSamplesPerCallMax));
  }
  if (static_cast<uint32_t>(request.bags_size()) > kTablesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("bags: ", request.bags_size(), ", at most ", kTablesMax));
  }
  if (!(request.sparsity() >= 0 && request.sparsity() < 1)) {
    return Wrong("sparsity", absl::StrCat(request.sparsity(), ", it must be in [0, 1)"));
  }
  scope.samples_ = request.samples();
  scope.sparsity_ = request.sparsity();
  scope.laplace_ = request.threshold() == Compression::THRESHOLD_LAPLACE;
  uint64_t entries = 0;
  for (int i = 0; i < request.bags_size(); ++i) {
    absl::StatusOr<Bags> bags = DecodeBags(request.bags(i), scope.samples_, tables);
    if (!bags.ok()) return absl::Status(bags.status().code(), absl::StrCat("bags ", i, ", ", bags.status().message()));
    for (uint32_t count : bags->counts) entries += count > 0 ? bags->dim : 0;
    scope.features_.push_back(*std::move(bags));
  }
  if (entries > kFrameEntriesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the pooled vectors have ", entries, " entries, at most ", kFrameEntriesMax, ": split the call"));
  }
  scope.entries_ = static_cast<uint32_t>(entries);
  return scope;
}

template <typename SampleDone>
void SampleScope::Pool(absl::Span<const float* const> rows, float* out, SampleDone done) const {
  // Rows are where their keys were, anywhere in what the tables answered: those of samples to come are fetched meanwhile.
  constexpr size_t kKeysAhead = 4;
  float* next = out;
  ForEachBag(
      [&](const Bags& bags, absl::Span<const uint32_t> keys, uint32_t) {
        const float* const table_rows = rows[bags.slot];
        const auto row_of = [&](uint32_t key) { return table_rows + size_t{key} * bags.dim; };
        const uint32_t* const ahead = keys.data() + kKeysAhead * keys.size();
        if (ahead < bags.indices.data() + bags.indices.size()) __builtin_prefetch(row_of(*ahead));
        float* __restrict const pooled = next;
        std::memcpy(pooled, row_of(keys[0]), bags.dim * sizeof(float));
        for (uint32_t key : keys.subspan(1)) {
          const float* __restrict const row = row_of(key);
          for (uint32_t d = 0; d < bags.dim; ++d) pooled[d] += row[d];
        }
        next = pooled + bags.dim;
      },
      [&] { next = done(next); });
}

absl::Status SampleScope::EncodePooled(absl::Span<const float* const> rows, std::string* frame) {
  mask_.clear();
  std::vector<float> kept;
  const auto keep = [&](absl::Span<const float> values, uint32_t offset) {
    for (size_t i = kept.size(); i < mask_.size(); ++i) kept.push_back(values[mask_[i] - offset]);
  };
  if (laplace_) {
    const std::unique_ptr<float[]> pooled(new float[entries_]);  // not zeroed: every entry is written
    Pool(rows, pooled.get(), [](float* next) { return next; });
    const auto values = absl::MakeConstSpan(pooled.get(), entries_);
    WEIR_RETURN_IF_ERROR(compression::CheckFinite(values));
    compression::SelectKept(values, compression::LaplaceThreshold(values, sparsity_), 0, &mask_);
    keep(values, 0);
    return compression::EncodeSparse(entries_, mask_, kept, compression::ValueType::kFp32, frame);
  }
  // A sample at a time, which stays in the first-level cache.
  size_t sample_max = 0;
  for (const Bags& bags : features_) sample_max += bags.dim;
  const auto expected = static_cast<size_t>(entries_ * (1 - sparsity_));
  mask_.reserve(expected + expected / 8);
  kept.reserve(expected + expected / 8);
  std::vector<float> sample(sample_max);
  uint32_t offset = 0;
  absl::Status status;
  Pool(rows, sample.data(), [&](const float* end) {
    const auto values = absl::MakeConstSpan(sample.data(), end - sample.data());
    status.Update(compression::CheckFinite(values));
    if (status.ok()) {
      compression::SelectOfSample(values, sparsity_, offset, &mask_);
      keep(values, offset);
    }
    offset += static_cast<uint32_t>(values.size());
    return sample.data();
  });
  WEIR_RETURN_IF_ERROR(status);
  return compression::EncodeSparse(entries_, mask_, kept, compression::ValueType::kFp32, frame);
}

absl::Status SampleScope::ScatterPush(absl::string_view frame, absl::Span<std::vector<float>> gradients) const {
  std::vector<float> values(mask_.size());
  WEIR_RETURN_IF_ERROR(compression::DecodeImplied(frame, absl::MakeSpan(values)));
  size_t next = 0;  // in mask_
  ForEachBag(
      [&](const Bags& bags, absl::Span<const uint32_t> keys, uint32_t entry) {
        for (; next < mask_.size() && mask_[next] < entry + bags.dim; ++next) {
          for (uint32_t key : keys) gradients[bags.slot][size_t{key} * bags.dim + (mask_[next] - entry)] += values[next];
        }
      },
      [] {});
  return absl::OkStatus();
}

}  // namespace weir::server
