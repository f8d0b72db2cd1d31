#include "tools/report/metrics_series.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::tools {
namespace {

struct Weighted {
  double value;
  double weight;
};

// An unknown mean has no weight.
double MergedMean(Weighted a, Weighted b) {
  if (std::isnan(a.value)) return b.value;
  if (std::isnan(b.value) || a.weight + b.weight <= 0) return std::isnan(b.value) ? a.value : b.value;
  return (a.value * a.weight + b.value * b.weight) / (a.weight + b.weight);
}

struct Origin {
  uint64_t samples = 0;
  double seconds = 0;
};

Origin OriginOf(const MetricsPoint& point) { return {point.samples, point.seconds}; }

// The point that covers what `first` and `second` cover; `origin` is where `first` begins.
MetricsPoint Merged(Origin origin, const MetricsPoint& first, MetricsPoint second) {
  // Counters may restart when a worker does; a window is never negative.
  const double samples_a = first.samples > origin.samples ? first.samples - origin.samples : 0;
  const double samples_b = second.samples > first.samples ? second.samples - first.samples : 0;
  const double seconds_a = std::fmax(0, first.seconds - origin.seconds);
  const double seconds_b = std::fmax(0, second.seconds - first.seconds);
  second.logloss = MergedMean({first.logloss, samples_a}, {second.logloss, samples_b});
  second.auc = MergedMean({first.auc, samples_a}, {second.auc, samples_b});
  second.samples_per_second = MergedMean({first.samples_per_second, seconds_a}, {second.samples_per_second, seconds_b});
  if (second.codecs.size() < first.codecs.size()) second.codecs.resize(first.codecs.size(), kNoCodecFigures);
  for (size_t i = 0; i < first.codecs.size(); ++i) {
    if (std::isnan(second.codecs[i].density)) second.codecs[i] = first.codecs[i];
  }
  return second;
}

}  // namespace

uint64_t TotalBytes(const BytesByEdge& bytes) {
  uint64_t total = 0;
  for (const uint64_t edge : bytes) total += edge;
  return total;
}

int MetricsSeries::CodecIndex(absl::string_view edge, absl::string_view name) {
  const std::string key = absl::StrCat(edge, "\n", name);
  const auto found = codec_index_.find(key);
  if (found != codec_index_.end()) return found->second;
  if (codecs_.size() == kCodecsMax) return -1;
  const int index = static_cast<int>(codecs_.size());
  codec_index_.emplace(key, index);
  codecs_.push_back({std::string(edge), std::string(name)});
  return index;
}

void MetricsSeries::Append(MetricsPoint point) {
  if (!points_.empty() && appends_in_last_ < appends_per_point_) {
    const Origin origin = points_.size() == 1 ? Origin{} : OriginOf(points_[points_.size() - 2]);
    points_.back() = Merged(origin, points_.back(), std::move(point));
    ++appends_in_last_;
    return;
  }
  if (points_.size() == kPointsMax) Halve();
  points_.push_back(std::move(point));
  appends_in_last_ = 1;
}

void MetricsSeries::Halve() {
  static_assert(kPointsMax % 2 == 0, "points merge in pairs");
  Origin origin;
  for (size_t i = 0; i < points_.size() / 2; ++i) {
    // The pair's end, read before its place is written: place i holds a point that was merged already.
    const Origin end = OriginOf(points_[2 * i + 1]);
    points_[i] = Merged(origin, points_[2 * i], std::move(points_[2 * i + 1]));
    origin = end;
  }
  points_.resize(points_.size() / 2);
  appends_per_point_ *= 2;
}

}  // namespace weir::tools
