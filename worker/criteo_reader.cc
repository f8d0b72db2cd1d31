#include "worker/criteo_reader.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace weir::worker {

CriteoReader::CriteoReader(const Data& data, const DataSchema& schema, RangeSource* ranges)
    : skip_bad_rows_(data.on_bad_row() == Data::BAD_ROW_SKIP),
      buckets_(data.keys() == Data::KEYS_BUCKETS ? std::max<uint64_t>(1, data.buckets()) : 0),
      source_(ranges) {
  assert(schema.dense_features == kCriteoIntegers && schema.sparse_features.size() == kCriteoCategories);
}

absl::Status CriteoReader::Next(uint32_t samples_max, Batch* batch) {
  batch->samples = 0;
  batch->dense.resize(size_t{samples_max} * kCriteoIntegers);
  batch->labels.resize(samples_max);
  batch->features.resize(kCriteoCategories);
  for (uint32_t i = 0; i < kCriteoCategories; ++i) {
    batch->features[i].table = i;
    batch->features[i].keys.resize(samples_max);
    batch->features[i].ends.clear();
  }
  uint32_t samples = 0;
  while (samples < samples_max) {
    if (rows_left_ == 0) {
      WEIR_ASSIGN_OR_RETURN(const bool more, NextRange());
      if (!more) break;
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(const bool good, ReadRow());
    if (good) Store(samples++, batch);
  }
  if (samples < samples_max) {
    batch->dense.resize(size_t{samples} * kCriteoIntegers);
    batch->labels.resize(samples);
    for (client::FeatureKeys& feature : batch->features) feature.keys.resize(samples);
  }
  batch->samples = samples;
  batch->end = rows_left_ == 0 ? SourcePosition{ranges_, 0} : SourcePosition{ranges_ - 1, range_rows_ - rows_left_};
  return absl::OkStatus();
}

absl::StatusOr<bool> CriteoReader::NextRange() {
  if (done_) return false;
  WEIR_ASSIGN_OR_RETURN(const NextRangeReply range, source_->Next());
  if (range.done()) {
    done_ = true;
    return false;
  }
  if (reader_ == nullptr || file_ != range.file()) {
    WEIR_ASSIGN_OR_RETURN(reader_, LineReader::Open(range.file()));
    file_ = range.file();
  }
  WEIR_RETURN_IF_ERROR(reader_->Seek(range.byte_offset(), range.first_line()));
  ++ranges_;
  range_rows_ = rows_left_ = range.rows();
  return true;
}

absl::StatusOr<bool> CriteoReader::ReadRow() {
  const uint64_t line_number = reader_->line_number();
  absl::string_view line;
  WEIR_ASSIGN_OR_RETURN(const bool any, reader_->Next(&line));
  if (!any) {
    return absl::DataLossError(
        absl::StrCat(file_, ", line ", line_number, ": the file ends here, but had ", rows_left_, " rows more when the job began"));
  }
  --rows_left_;
  if (ParseCriteoLine(line, &row_, &why_)) return true;
  WEIR_RETURN_IF_ERROR(Refuse(line_number));
  return false;
}

absl::Status CriteoReader::Refuse(uint64_t line_number) {
  const std::string message = absl::StrCat(file_, ", line ", line_number, ", ", why_);
  if (!skip_bad_rows_) return absl::InvalidArgumentError(absl::StrCat(message, "; data.on_bad_row: skip would leave such rows out"));
  if (++bad_rows_ <= kBadRowsLoggedMax) {
    spdlog::warn("row left out: {}{}", message, bad_rows_ == kBadRowsLoggedMax ? "; the next ones are only counted" : "");
  }
  return absl::OkStatus();
}

void CriteoReader::Store(uint32_t sample, Batch* batch) const {
  batch->labels[sample] = row_.label;
  std::copy_n(row_.dense, kCriteoIntegers, batch->dense.data() + size_t{sample} * kCriteoIntegers);
  for (uint32_t i = 0; i < kCriteoCategories; ++i) {
    batch->features[i].keys[sample] = buckets_ == 0 ? row_.keys[i] : row_.keys[i] % buckets_;
  }
}

}  // namespace weir::worker
