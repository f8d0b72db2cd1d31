// The course of a run as its report shows it: metrics.jsonl in bounded memory.
#ifndef WEIR_TOOLS_REPORT_METRICS_SERIES_H_
#define WEIR_TOOLS_REPORT_METRICS_SERIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weir::tools {

// Edges as the files name them, in the order of tables and plots.
inline constexpr size_t kEdgeCount = 5;
inline constexpr std::array<absl::string_view, kEdgeCount> kEdgeNames = {"lookup_request", "lookup_reply", "push", "dense", "control"};

using BytesByEdge = std::array<uint64_t, kEdgeCount>;

uint64_t TotalBytes(const BytesByEdge& bytes);

// What one codec did, as of one point in time. NaN: not said.
struct CodecFigures {
  float density;
  float threshold;
  float residual_ratio;
};

inline constexpr CodecFigures kNoCodecFigures = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN(),
                                                 std::numeric_limits<float>::quiet_NaN()};

struct CodecName {
  std::string edge;
  std::string name;  // table or layer
};

// The run up to one moment. Quality and speed are means since the point before, NaN where unknown; the rest counts from the start.
struct MetricsPoint {
  double seconds = 0;
  uint64_t samples = 0;
  uint64_t steps = 0;
  double logloss = 0;
  double auc = 0;
  double samples_per_second = 0;
  double wait_seconds = 0;
  BytesByEdge wire_bytes = {};
  std::vector<CodecFigures> codecs;  // by index in MetricsSeries::codecs(); short where later codecs had not reported yet
};

// Points in the order of time; neighbours merge when there would be more than kPointsMax of them. Single-threaded.
class MetricsSeries {
 public:
  static constexpr size_t kPointsMax = 600;  // even; about as many as a plot has pixels
  static constexpr size_t kCodecsMax = 2048;

  // Index of a codec, new or known; -1 when there are kCodecsMax others.
  int CodecIndex(absl::string_view edge, absl::string_view name);

  // Takes the next point in time.
  void Append(MetricsPoint point);

  absl::Span<const MetricsPoint> points() const { return points_; }
  absl::Span<const CodecName> codecs() const { return codecs_; }

 private:
  void Halve();

  std::vector<MetricsPoint> points_;
  std::vector<CodecName> codecs_;
  absl::flat_hash_map<std::string, int> codec_index_;  // by edge, line feed, name
  size_t appends_per_point_ = 1;
  size_t appends_in_last_ = 0;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_REPORT_METRICS_SERIES_H_
