#include "compression/bounded_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/half.h"
#include "compression/varint.h"
#include "compression/vector_kernels.h"
#include "xxhash.h"

namespace weir::compression {
namespace {

constexpr uint64_t kTryEvery = 100;
constexpr uint32_t kStepFractionMask = 0xffff0000;  // of a float: the bits that bf16 has
// Leaves room for the error of a quotient in fp32, which is below 2^-9 for the multiples that are used.
constexpr double kStepPerBound = 2 * (1 - 0x1p-7);

// The largest step of 8 bits of mantissa that keeps the bound; 0: there is none.
float StepOf(double bound, double range) {
  const double step = std::min(bound * range * kStepPerBound, double{FloatOfBits(kInfinityBits - 0x10000)});
  const auto nearest = static_cast<float>(step);
  const uint32_t bits = BitsOfFloat(nearest) - (nearest > step ? 1 : 0);
  return nearest == 0 ? 0 : FloatOfBits(bits & kStepFractionMask);
}

uint32_t Distinct(const void* rows, size_t row_bytes, size_t count) {
  absl::flat_hash_set<uint64_t> seen;
  seen.reserve(count);
  const char* row = static_cast<const char*>(rows);
  for (size_t i = 0; i < count; ++i, row += row_bytes) seen.insert(XXH3_64bits(row, row_bytes));
  return static_cast<uint32_t>(seen.size());
}

}  // namespace

absl::Status BoundedRows::Round(absl::Span<const float> values, uint32_t width, double bound) {
  if (MaxMagnitudeBits(values) >= kInfinityBits) {
    const size_t bad = std::find_if_not(values.begin(), values.end(), [](float v) { return std::isfinite(v); }) - values.begin();
    return absl::InvalidArgumentError(
        absl::StrCat("value ", bad, " of ", values.size(), " is ", values[bad], "; only finite values can be sent"));
  }
  values_.assign(values.begin(), values.end());
  width_ = width;
  step_ = 0;
  lowest_ = 0;
  if (values.empty()) return absl::OkStatus();
  const FloatRange range = RangeOf(values);
  const double largest = std::max(std::fabs(range.low), std::fabs(range.high));
  // Rows of zeros are multiples of any step.
  const float step = largest == 0 ? 1 : StepOf(bound, double{range.high} - double{range.low});
  if (step == 0 || largest / step >= kStepMultipleMax - 1 || largest + step > LargestValue(ValueType::kFp32)) return absl::OkStatus();
  step_ = step;
  multiples_.resize(values.size());
  MultiplesFromFloats(values, step, multiples_.data());
  // Rounding keeps the order.
  int32_t ends[2];
  MultiplesFromFloats({range.low, range.high}, step, ends);
  lowest_ = ends[0];
  code_bytes_ = ends[1] - ends[0] < 256 ? 1 : 2;
  codes_.resize(values.size() * code_bytes_);
  if (code_bytes_ == 1) {
    for (size_t i = 0; i < multiples_.size(); ++i) codes_[i] = static_cast<uint8_t>(multiples_[i] - lowest_);
  } else {
    for (size_t i = 0; i < multiples_.size(); ++i) {
      const auto code = static_cast<uint16_t>(multiples_[i] - lowest_);
      std::memcpy(&codes_[i * 2], &code, sizeof(code));
    }
  }
  return absl::OkStatus();
}

void BoundedRows::AppendRepeats(std::string* mask, std::vector<uint8_t>* codes) const {
  const size_t row_bytes = size_t{width_} * code_bytes_;
  const size_t rows = codes_.size() / row_bytes;
  std::vector<uint64_t> hashes(rows);
  for (size_t row = 0; row < rows; ++row) hashes[row] = XXH3_64bits(&codes_[row * row_bytes], row_bytes);
  const auto equal = [&](size_t a, size_t b) {
    return hashes[a] == hashes[b] && std::memcmp(&codes_[a * row_bytes], &codes_[b * row_bytes], row_bytes) == 0;
  };
  size_t literal = 0;  // first row that is not written yet
  for (size_t row = 0; row < rows;) {
    size_t best = 0, distance = 0;
    for (size_t back = 1; back <= std::min<size_t>(row, kRepeatWindowRows); ++back) {
      size_t length = 0;
      while (row + length < rows && equal(row + length, row + length - back)) ++length;
      if (length > best) best = length, distance = back;
    }
    if (best == 0) {
      ++row;
      continue;
    }
    AppendVarint(row - literal, mask);
    codes->insert(codes->end(), &codes_[literal * row_bytes], codes_.data() + row * row_bytes);
    AppendVarint(distance, mask);
    AppendVarint(best, mask);
    row += best;
    literal = row;
  }
  if (literal == rows) return;
  AppendVarint(rows - literal, mask);
  codes->insert(codes->end(), codes_.begin() + literal * row_bytes, codes_.end());
}

absl::Status BoundedRows::Encode(CodeEncoding encoding, std::string* frame) const {
  const bool pack = encoding == CodeEncoding::kPacked || encoding == CodeEncoding::kRepeatsPacked;
  std::string encoded;
  if (!rounded()) {
    WEIR_RETURN_IF_ERROR(EncodeDense(values_, ValueType::kFp32, &encoded));
  } else {
    std::string mask;
    std::vector<uint8_t> literals;
    StepRows rows;
    rows.rows = static_cast<uint32_t>(values_.size() / width_);
    rows.width = width_;
    rows.step = step_;
    rows.lowest = lowest_;
    rows.type = code_bytes_ == 1 ? ValueType::kSteps8 : ValueType::kSteps16;
    rows.codes = codes_;
    rows.repeats = encoding == CodeEncoding::kRepeats || encoding == CodeEncoding::kRepeatsPacked;
    if (rows.repeats) {
      AppendRepeats(&mask, &literals);
      rows.mask = mask;
      rows.codes = literals;
    }
    EncodeSteps(rows, &encoded);
  }
  if (pack) PackFrame(&encoded);
  frame->append(encoded);
  return absl::OkStatus();
}

uint32_t BoundedRows::DistinctBefore() const { return Distinct(values_.data(), width_ * sizeof(float), values_.size() / width_); }

uint32_t BoundedRows::DistinctAfter() const {
  if (!rounded()) return DistinctBefore();
  return Distinct(codes_.data(), size_t{width_} * code_bytes_, values_.size() / width_);
}

double BoundFactor(double homogenisation_index) {
  if (homogenisation_index > kTightenAbove) return 1.0 / 3;
  return homogenisation_index < kLoosenBelow ? 5.0 / 3 : 1;
}

double BoundDecay(double start, uint64_t steps, uint64_t step) {
  if (step >= steps) return 1;
  const double tenths = std::floor(10.0 * static_cast<double>(step) / static_cast<double>(steps));
  return std::max(start * (1 - tenths * (1 - 1 / start) / 10), 1.0);
}

double ModelledSpeedup(double ratio, double link, double encode_rate, double decode_rate) {
  return 1 / (1 / ratio + link * (1 / encode_rate + 1 / decode_rate));
}

CodeEncoding EncodingChooser::choice() const {
  MutexLock lock(&mu_);
  return choice_;
}

absl::Status EncodingChooser::Encode(const BoundedRows& rows, std::string* frame) {
  CodeEncoding choice;
  bool try_all;
  {
    MutexLock lock(&mu_);
    try_all = calls_++ % kTryEvery == 0 && rows.entries() > 0;
    choice = choice_;
  }
  return try_all ? TryAll(rows, frame) : rows.Encode(choice, frame);
}

absl::Status EncodingChooser::TryAll(const BoundedRows& rows, std::string* frame) {
  const double bytes = static_cast<double>(rows.entries()) * sizeof(float);
  std::vector<float> decoded(rows.entries());
  std::string best;
  double best_speedup = 0;
  CodeEncoding choice = CodeEncoding::kCodes;
  for (int i = 0; i < kCodeEncodings; ++i) {
    const auto encoding = static_cast<CodeEncoding>(i);
    std::string encoded;
    const absl::Time begin = absl::Now();
    WEIR_RETURN_IF_ERROR(rows.Encode(encoding, &encoded));
    const absl::Time end = absl::Now();
    WEIR_RETURN_IF_ERROR(DecodeInto(encoded, absl::MakeSpan(decoded)));
    const auto rate = [bytes](absl::Duration time) { return bytes / std::max(absl::ToDoubleSeconds(time), 1e-9); };
    const double speedup = ModelledSpeedup(bytes / static_cast<double>(encoded.size()), link_, rate(end - begin), rate(absl::Now() - end));
    if (speedup <= best_speedup) continue;
    best_speedup = speedup;
    choice = encoding;
    best = std::move(encoded);
  }
  frame->append(best);
  MutexLock lock(&mu_);
  choice_ = choice;
  return absl::OkStatus();
}

}  // namespace weir::compression
