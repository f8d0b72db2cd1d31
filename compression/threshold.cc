#include "compression/threshold.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compression/half.h"
#include "compression/magnitude_rank.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

// Values so few that comparing them is cheaper than counting; and so many that each pass over them counts.
constexpr size_t kCompared = 40;
constexpr size_t kMany = 16384;

struct Bin {
  uint32_t index = 0;
  uint32_t count = 0;
  uint32_t rank = 0;  // 1-based, inside the bin
};

// Bin of a magnitude: its exponent and first mantissa bits.
constexpr int kBinShift = 20;

// The bin that holds the rank-th smallest magnitude. REQUIRES: 1 <= rank <= values.size().
Bin FindBin(absl::Span<const float> values, uint32_t rank) {
  constexpr size_t kBins = size_t{1} << (31 - kBinShift);
  // Near values often share a bin; counting them in turns spares each increment the wait for the one before.
  std::array<std::array<uint32_t, kBins>, 4> counts{};
  const auto bin = [](float value) { return (BitsOfFloat(value) & 0x7fffffff) >> kBinShift; };
  const float* value = values.data();
  const float* const end = value + values.size();
  for (; end - value >= 4; value += 4) {
    ++counts[0][bin(value[0])];
    ++counts[1][bin(value[1])];
    ++counts[2][bin(value[2])];
    ++counts[3][bin(value[3])];
  }
  for (; value != end; ++value) ++counts[0][bin(*value)];
  // From the top: thresholds keep few values, and nothing is above the largest.
  uint32_t above = 0;
  for (uint32_t index = kBins - 1;; --index) {
    const uint32_t count = counts[0][index] + counts[1][index] + counts[2][index] + counts[3][index];
    above += count;
    const uint32_t below = static_cast<uint32_t>(values.size()) - above;
    if (below < rank) return {index, count, rank - below};
  }
}

// The rank-th smallest magnitude (1-based). `scratch` is reused from call to call.
float SelectMagnitude(absl::Span<const float> values, uint32_t rank, std::vector<uint32_t>* scratch) {
  if (values.size() <= kCompared) {
    uint32_t magnitudes[kCompared];
    for (size_t i = 0; i < values.size(); ++i) magnitudes[i] = BitsOfFloat(values[i]) & 0x7fffffff;
    std::nth_element(magnitudes, magnitudes + (rank - 1), magnitudes + values.size());
    return FloatOfBits(magnitudes[rank - 1]);
  }
  if (values.size() < kMany) return FloatOfBits(MagnitudeOfRank(values, rank, MaxMagnitudeBits(values)));
  Bin bin = FindBin(values, rank);
  uint32_t first_bits = bin.index << kBinShift;
  if (bin.index == 0) {
    // Exact zeros, which may be most of the values, lie here among the subnormals.
    const uint32_t zeros = std::count(values.begin(), values.end(), 0.0f);
    if (bin.rank <= zeros) return 0;
    bin.rank -= zeros;
    first_bits = 1;
  }
  if (scratch->size() < bin.count + kCompactSlack) scratch->resize(bin.count + kCompactSlack);
  const size_t count = CompactMagnitudes(values, first_bits, (bin.index + 1) << kBinShift, scratch->data());
  const auto selected = scratch->begin() + (bin.rank - 1);
  std::nth_element(scratch->begin(), selected, scratch->begin() + count);
  return FloatOfBits(*selected);
}

float Threshold(absl::Span<const float> values, double sparsity, std::vector<uint32_t>* scratch) {
  const double rank = std::floor(static_cast<double>(values.size()) * sparsity);
  if (!(rank >= 1)) return 0;
  return SelectMagnitude(values, static_cast<uint32_t>(std::min(rank, static_cast<double>(values.size()))), scratch);
}

absl::Status CheckEnds(absl::Span<const uint32_t> ends, size_t size) {
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    if (end < begin) return absl::InvalidArgumentError(absl::StrCat("a sample ends at ", end, ", before the one ahead of it at ", begin));
    begin = end;
  }
  if (begin == size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the last sample ends at ", begin, " of ", size, " values"));
}

}  // namespace

float MagnitudeThreshold(absl::Span<const float> values, double sparsity) {
  std::vector<uint32_t> scratch;
  return Threshold(values, sparsity, &scratch);
}

float LaplaceThreshold(absl::Span<const float> values, double sparsity) {
  if (values.empty()) return 0;
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const float value : values) sum += value;
  const double mean = sum / count;
  for (const float value : values) squares += (value - mean) * (value - mean);
  const double scale = std::sqrt(squares / count / 2);
  if (!(scale > 0)) return 0;
  const double ratio = std::fabs(mean) / scale;
  // P(|X| >= t) is exp(-t / b) cosh(mean / b) from |mean| on, and 1 - exp(-|mean| / b) sinh(t / b) below. The logarithm of the cosine
  // first: the mean may be many scales from zero.
  const double log_cosh = ratio + std::log1p(std::exp(-2 * ratio)) - std::log(2.0);
  const double beyond = scale * (log_cosh - std::log(1 - sparsity));
  if (beyond >= std::fabs(mean)) return static_cast<float>(beyond);
  if (sparsity == 0) return 0;
  // asinh(y) for y = sparsity * exp(ratio), which may overflow.
  const double log_y = std::log(sparsity) + ratio;
  const double asinh = log_y > 20 ? log_y + std::log(2.0) : std::asinh(std::exp(log_y));
  return static_cast<float>(scale * asinh);
}

void SelectKept(absl::Span<const float> values, float threshold, uint32_t offset, std::vector<uint32_t>* kept) {
  constexpr size_t kChunk = 2048;
  // At least the smallest subnormal: zeros are never kept.
  const uint32_t least_bits = std::max(BitsOfFloat(threshold) & 0x7fffffff, 1u);
  uint32_t positions[kChunk + kCompactSlack];
  for (size_t begin = 0; begin < values.size(); begin += kChunk) {
    const size_t count = CompactPositions(values.subspan(begin, kChunk), least_bits, offset + static_cast<uint32_t>(begin), positions);
    kept->insert(kept->end(), positions, positions + count);
  }
}

float SelectLargest(absl::Span<const float> values, uint32_t count, std::vector<uint32_t>* kept) {
  std::vector<uint32_t> scratch;
  const float least = SelectMagnitude(values, static_cast<uint32_t>(values.size()) - count + 1, &scratch);
  kept->clear();
  SelectKept(values, least, 0, kept);
  if (kept->size() <= count) return least;
  // More entries than wanted are as large as the last one: those that stand last among them go.
  size_t surplus = kept->size() - count;
  auto to = kept->end();
  for (auto from = kept->end(); from != kept->begin();) {
    --from;
    if (surplus > 0 && std::fabs(values[*from]) == least) {
      --surplus;
    } else {
      *--to = *from;
    }
  }
  kept->erase(kept->begin(), to);
  return least;
}

absl::Status CheckFinite(absl::Span<const float> values) {
  if (MaxMagnitudeBits(values) < kInfinityBits) return absl::OkStatus();
  const auto bad = std::find_if_not(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  return absl::InvalidArgumentError(absl::StrCat("value ", bad - values.begin(), " of ", values.size(), " is ", *bad));
}

void SelectOfSample(absl::Span<const float> sample, double sparsity, uint32_t offset, std::vector<uint32_t>* kept) {
  std::vector<uint32_t> scratch;  // takes memory for the largest samples only
  SelectKept(sample, Threshold(sample, sparsity, &scratch), offset, kept);
}

absl::Status SelectPerSample(absl::Span<const float> values, absl::Span<const uint32_t> ends, double sparsity,
                             std::vector<uint32_t>* kept) {
  if (absl::Status status = CheckEnds(ends, values.size()); !status.ok()) return status;
  if (absl::Status status = CheckFinite(values); !status.ok()) return status;
  kept->clear();
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    SelectOfSample(values.subspan(begin, end - begin), sparsity, begin, kept);
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace weir::compression
