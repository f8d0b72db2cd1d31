#include "tools/report/human_units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"

namespace weir::tools {
namespace {

// Three significant digits, without an exponent, of a value in [0, 1000).
std::string ThreeDigits(double value) {
  // The limits are where printf's rounding would make a fourth digit.
  if (value < 9.995) return absl::StrFormat("%.2f", value);
  if (value < 99.95) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.0f", value);
}

std::string WithPrefix(double value, absl::string_view unit, absl::Span<const absl::string_view> prefixes) {
  if (!std::isfinite(value)) return "-";
  if (value < 0) return absl::StrCat("-", WithPrefix(-value, unit, prefixes));
  // Below a thousand there are no parts of a byte or a row, but for means.
  if (value < 999.5) {
    const bool whole = value == std::floor(value) || value >= 99.95;
    return absl::StrCat(whole ? absl::StrFormat("%.0f", value) : ThreeDigits(value), unit.empty() ? "" : " ", unit);
  }
  size_t prefix = 0;
  value /= 1000;
  while (value >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return absl::StrCat(ThreeDigits(value), unit.empty() ? "" : " ", prefixes[prefix], unit);
}

}  // namespace

std::string HumanBytes(double bytes) {
  static constexpr std::array<absl::string_view, 5> kPrefixes = {"k", "M", "G", "T", "P"};
  return WithPrefix(bytes, "B", kPrefixes);
}

std::string HumanCount(double count) {
  static constexpr std::array<absl::string_view, 4> kPrefixes = {"k", "M", "G", "T"};
  return WithPrefix(count, "", kPrefixes);
}

std::string HumanSeconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 0) return absl::StrCat("-", HumanSeconds(-seconds));
  if (seconds < 59.95) return absl::StrCat(ThreeDigits(seconds), " s");
  // A job of ten thousand years is no job.
  const int64_t whole = std::llround(std::min(seconds, 3e11));
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  const int64_t minutes = (whole + 30) / 60;
  return absl::StrFormat("%d h %02d min", minutes / 60, minutes % 60);
}

std::string HumanRatio(double value, double other, RatioWords words) {
  if (!(value > 0) || !(other > 0) || !std::isfinite(value) || !std::isfinite(other)) return value == other ? "same" : "-";
  const absl::string_view word = value < other ? words.smaller : words.larger;
  const double ratio = std::max(value, other) / std::min(value, other);
  const double change = std::abs(value - other) / other;
  if (change < 0.005) return "same";
  if (ratio < 2) return absl::StrFormat("%.0f %% %s", 100 * change, word);
  if (ratio < 9.95) return absl::StrFormat("%.1fx %s", ratio, word);
  return absl::StrFormat("%.0fx %s", ratio, word);
}

std::string HumanPercentDifference(double value, double other) {
  if (other == 0 || !std::isfinite(value) || !std::isfinite(other)) return "-";
  return absl::StrFormat("%+.2f %%", 100 * (value - other) / std::abs(other));
}

}  // namespace weir::tools
