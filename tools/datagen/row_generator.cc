#include "tools/datagen/row_generator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/key.h"

namespace weir::tools {
namespace {

constexpr uint32_t kVocabularyMax = uint32_t{1} << 31;
constexpr double kSkewMax = 4;

// Standard deviations of the logit's parts.
constexpr double kIntegersDeviation = 0.7;
constexpr double kCategoriesDeviation = 1.0;
constexpr double kPairsDeviation = 0.7;
// Rank at which an effect has faded to 1 / sqrt(2).
constexpr double kFadingRank = 500;
constexpr uint32_t kSampleRows = 20000;

// Names of the streams of random numbers, so that none is used twice.
enum Stream : uint64_t { kRowStream = 1, kSampleStream, kCoefficientStream, kWeightStream, kEffectStream, kLatentStream };

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

struct IntegerShape {
  double mean;  // of log(count)
  double deviation;
  double missing;
};

constexpr std::array<IntegerShape, kIntegers> kIntegerShapes = {{{0.3, 1.2, 0.45},
                                                                 {1.5, 2.0, 0.0},
                                                                 {1.6, 1.2, 0.21},
                                                                 {1.4, 1.0, 0.22},
                                                                 {6.5, 1.8, 0.03},
                                                                 {3.0, 1.6, 0.22},
                                                                 {1.2, 1.3, 0.04},
                                                                 {1.8, 1.0, 0.0},
                                                                 {3.5, 1.4, 0.04},
                                                                 {0.0, 0.6, 0.45},
                                                                 {0.6, 0.8, 0.04},
                                                                 {-0.3, 0.8, 0.76},
                                                                 {1.5, 1.0, 0.22}}};

constexpr std::array<double, kCategories> kCategoryMissing = {0, 0, 0.03, 0.03, 0, 0.12, 0,    0,    0,    0, 0,    0.03, 0,
                                                              0, 0, 0.03, 0,    0, 0.44, 0.44, 0.03, 0.76, 0, 0.03, 0.44, 0.44};

constexpr std::array<std::array<uint8_t, 2>, 8> kPairs = {{{0, 1}, {4, 6}, {7, 13}, {9, 22}, {10, 17}, {12, 14}, {5, 16}, {1, 25}}};

double UniformOf(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

double Lane(uint64_t bits, uint32_t lane) { return static_cast<double>(static_cast<uint16_t>(bits >> (16 * lane))); }

// Nearly standard normal: the sum of four uniform numbers, within +-3.47.
double NormalOf(uint64_t bits) {
  constexpr double kMean = 2 * 65535.0;
  constexpr double kDeviation = 37837.2;  // 65536 / sqrt(3)
  return (Lane(bits, 0) + Lane(bits, 1) + Lane(bits, 2) + Lane(bits, 3) - kMean) / kDeviation;
}

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// Consecutive outputs of SplitMix64.
class Draws {
 public:
  explicit Draws(uint64_t stream) : state_(stream) {}
  uint64_t Next() { return Mix64(state_ += kGolden); }

 private:
  uint64_t state_;
};

// The low bits of a draw whose high bits make a number in [0, 1).
bool IsMissing(uint64_t bits, double share) { return static_cast<double>(bits & 0x7ff) < share * 2048; }

// Where a rank's hash comes from; a missing category has effects of its own.
uint64_t RankName(uint32_t feature, int64_t rank) { return (uint64_t{feature} << 40) + static_cast<uint64_t>(rank + 1); }

double Fading(int64_t rank) { return 1.0 / std::sqrt(1.0 + static_cast<double>(std::max<int64_t>(rank, 0)) / kFadingRank); }

double Deviation(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(std::max(squares / count - (sum / count) * (sum / count), 0.0));
}

char* FormatHex(uint32_t id, char* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 28; shift >= 0; shift -= 4) *out++ = kDigits[(id >> shift) & 15];
  return out;
}

}  // namespace

Vocabulary KaggleVocabulary(uint32_t size_max) {
  Vocabulary sizes = {1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
                      27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};
  for (uint32_t& size : sizes) size = std::min(size, size_max);
  return sizes;
}

absl::Status CheckRowOptions(const RowOptions& options) {
  for (const uint32_t size : options.vocabulary) {
    if (size == 0 || size > kVocabularyMax) {
      return absl::InvalidArgumentError(absl::StrCat("--vocabulary: a feature of ", size, " ids; 1 to ", kVocabularyMax, " are possible"));
    }
  }
  if (!(options.skew >= 0 && options.skew <= kSkewMax)) {
    return absl::InvalidArgumentError(absl::StrCat("--skew ", options.skew, " is outside [0, ", kSkewMax, "]"));
  }
  if (!(options.noise >= 0 && options.noise <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("--noise ", options.noise, " is outside [0, 1]"));
  }
  return absl::OkStatus();
}

uint32_t CategoryId(uint32_t feature, uint32_t rank) {
  // A bijection of 32-bit integers (MurmurHash3's finaliser).
  uint32_t x = rank + feature * 0x9e3779b9u;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

char* FormatRow(const GeneratedRow& row, char* out) {
  *out++ = static_cast<char>('0' + row.label);
  for (const int64_t value : row.integers) {
    *out++ = '\t';
    if (value != GeneratedRow::kMissing) out = std::to_chars(out, out + 19, value).ptr;
  }
  for (uint32_t i = 0; i < kCategories; ++i) {
    *out++ = '\t';
    if (row.ranks[i] != GeneratedRow::kMissing) out = FormatHex(CategoryId(i, static_cast<uint32_t>(row.ranks[i])), out);
  }
  *out++ = '\n';
  return out;
}

int64_t RowGenerator::PowerLaw::RankOf(double uniform) const {
  // Inverse of the distribution function of x^-skew on [1, size + 1).
  const double x = exponent == 0 ? std::exp(uniform * span) : std::exp(std::log1p(uniform * span) / exponent);
  return static_cast<int64_t>(std::clamp(x, 1.0, size)) - 1;
}

RowGenerator::RowGenerator(const RowOptions& options) : options_(options) {
  const double exponent = std::abs(1 - options.skew) < 1e-6 ? 0 : 1 - options.skew;
  for (uint32_t i = 0; i < kCategories; ++i) {
    const double size = options.vocabulary[i];
    laws_[i] = {size, exponent, exponent == 0 ? std::log(size + 1) : std::pow(size + 1, exponent) - 1};
    weights_[i] = std::exp(0.5 * NormalOf(Mix64(Mix64(options.teacher_seed, kWeightStream), i)));
  }
  for (uint32_t i = 0; i < kIntegers; ++i) {
    coefficients_[i] = NormalOf(Mix64(Mix64(options.teacher_seed, kCoefficientStream), i)) / kIntegerShapes[i].deviation;
  }
  Calibrate();
}

GeneratedRow RowGenerator::Row(uint64_t index) const {
  GeneratedRow row;
  const uint64_t stream = Mix64(Mix64(options_.seed, kRowStream), index);
  Draw(stream, &row);
  const LogitParts parts = Parts(row);
  const double logit = bias_ + parts.integers * scale_.integers + parts.categories * scale_.categories + parts.pairs * scale_.pairs;
  row.probability = (1 - options_.noise) * Sigmoid(logit) + options_.noise * kClickRate;
  row.label = UniformOf(Mix64(stream)) < row.probability ? 1 : 0;
  return row;
}

void RowGenerator::Draw(uint64_t stream, GeneratedRow* row) const {
  Draws draws(stream);
  for (uint32_t i = 0; i < kIntegers; ++i) {
    const IntegerShape& shape = kIntegerShapes[i];
    const uint64_t bits = draws.Next();
    const double count = std::exp(shape.mean + shape.deviation * NormalOf(bits));
    row->integers[i] = IsMissing(draws.Next(), shape.missing) ? GeneratedRow::kMissing : static_cast<int64_t>(count);
  }
  for (uint32_t i = 0; i < kCategories; ++i) {
    const uint64_t bits = draws.Next();
    row->ranks[i] = IsMissing(bits, kCategoryMissing[i]) ? GeneratedRow::kMissing : laws_[i].RankOf(UniformOf(bits));
  }
}

RowGenerator::LogitParts RowGenerator::Parts(const GeneratedRow& row) const {
  LogitParts parts;
  for (uint32_t i = 0; i < kIntegers; ++i) {
    if (row.integers[i] > 0) parts.integers += coefficients_[i] * std::log(static_cast<float>(row.integers[i]) + 1.0f);
  }
  const uint64_t effects = Mix64(options_.teacher_seed, kEffectStream);
  std::array<double, kCategories> fading;
  for (uint32_t i = 0; i < kCategories; ++i) {
    fading[i] = Fading(row.ranks[i]);
    parts.categories += weights_[i] * fading[i] * NormalOf(Mix64(effects + RankName(i, row.ranks[i]) * kGolden));
  }
  const uint64_t latents = Mix64(options_.teacher_seed, kLatentStream);
  for (const auto& [f, g] : kPairs) {
    const uint64_t left = Mix64(latents + RankName(f, row.ranks[f]) * kGolden);
    const uint64_t right = Mix64(latents + RankName(g, row.ranks[g]) * kGolden);
    double dot = 0;
    for (uint32_t i = 0; i < kLatentDim; ++i) dot += (Lane(left, i) - 32767.5) * (Lane(right, i) - 32767.5);
    parts.pairs += fading[f] * fading[g] * dot * 0x1.0p-32;
  }
  return parts;
}

void RowGenerator::Calibrate() {
  std::vector<double> integers(kSampleRows), categories(kSampleRows), pairs(kSampleRows), logits(kSampleRows);
  // Of the teacher's seed: files of one teacher have the same scales.
  const uint64_t sample = Mix64(options_.teacher_seed, kSampleStream);
  for (uint32_t i = 0; i < kSampleRows; ++i) {
    GeneratedRow row;
    Draw(Mix64(sample, i), &row);
    const LogitParts parts = Parts(row);
    integers[i] = parts.integers;
    categories[i] = parts.categories;
    pairs[i] = parts.pairs;
  }
  const auto scale = [](double wanted, double deviation) { return deviation > 1e-9 ? wanted / deviation : 0; };
  scale_ = {scale(kIntegersDeviation, Deviation(integers)), scale(kCategoriesDeviation, Deviation(categories)),
            scale(kPairsDeviation, Deviation(pairs))};
  double low = -1e3, high = 1e3;
  for (uint32_t i = 0; i < kSampleRows; ++i) {
    logits[i] = integers[i] * scale_.integers + categories[i] * scale_.categories + pairs[i] * scale_.pairs;
  }
  for (int i = 0; i < 60; ++i) {
    bias_ = (low + high) / 2;
    double rate = 0;
    for (const double logit : logits) rate += Sigmoid(logit + bias_);
    (rate > kClickRate * kSampleRows ? high : low) = bias_;
  }
}

}  // namespace weir::tools
