#include "worker/criteo_line.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xxhash.h"

namespace weir::worker {
namespace {

constexpr size_t kHexDigits = 8;       // of a category as Criteo writes it
constexpr int kIntegerDigitsMax = 18;  // any such number fits an int64_t
constexpr size_t kExcerptBytes = 40;

float DenseOf(double value) { return static_cast<float>(std::log(std::max(value, 0.0) + 1.0)); }

// The field that starts at `field`: up to the next tab or the end.
absl::string_view FieldAt(const char* field, const char* end) {
  // Most categories are 8 hex digits: no tab among 8 bytes, and one behind them.
  if (end - field >= static_cast<ptrdiff_t>(kHexDigits) && (field + kHexDigits == end || field[kHexDigits] == '\t')) {
    uint64_t word;
    std::memcpy(&word, field, sizeof(word));
    constexpr uint64_t kOnes = 0x0101010101010101u;
    const uint64_t zero_where_tab = word ^ (kOnes * '\t');
    if (((zero_where_tab - kOnes) & ~zero_where_tab & (kOnes * 0x80)) == 0) return {field, kHexDigits};
  }
  const void* tab = field == end ? nullptr : std::memchr(field, '\t', static_cast<size_t>(end - field));
  return {field, static_cast<size_t>((tab == nullptr ? end : static_cast<const char*>(tab)) - field)};
}

// Parses what is not a plain integer. False: not a finite number.
bool ParseDecimal(absl::string_view field, float* dense) {
  double value;
  if (!absl::SimpleAtod(field, &value) || !std::isfinite(value)) return false;
  *dense = DenseOf(value);
  return true;
}

// Parses the integer field at *position and moves there to its end. False: not a finite number.
bool ParseDense(const char** position, const char* end, float* dense) {
  const char* field = *position;
  const char* at = field;
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  int64_t value = 0;
  const char* const digits = at;
  for (; at != end && static_cast<unsigned char>(*at - '0') <= 9; ++at) {
    if (at - digits == kIntegerDigitsMax) break;
    value = 10 * value + (*at - '0');
  }
  if (at == end || *at == '\t') {
    *position = at;
    if (at == digits) {
      *dense = 0;
      return !negative;
    }
    *dense = CriteoDense(negative ? -value : value);
    return true;
  }
  const absl::string_view text = FieldAt(field, end);
  *position = field + text.size();
  return ParseDecimal(text, dense);
}

// Says what is wrong with a line; `column` (from 0) is where the parser gave up.
std::string Explain(absl::string_view line, uint32_t column) {
  const auto columns = static_cast<uint64_t>(std::count(line.begin(), line.end(), '\t')) + 1;
  if (line.empty()) return absl::StrCat("column 1: the line is empty, ", kCriteoColumns, " columns are expected");
  if (columns != kCriteoColumns) {
    return absl::StrCat("column ", std::min<uint64_t>(columns, kCriteoColumns), ": the line has ", columns, " columns, ", kCriteoColumns,
                        " are expected (tab separated)");
  }
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (uint32_t i = 0; i < column; ++i) at += FieldAt(at, end).size() + 1;
  const absl::string_view field = FieldAt(at, end);
  const std::string excerpt =
      absl::StrCat("\"", absl::CHexEscape(field.substr(0, kExcerptBytes)), field.size() > kExcerptBytes ? "..." : "", "\"");
  if (column == 0) return absl::StrCat("column 1: the label ", excerpt, " is neither 0 nor 1");
  return absl::StrCat("column ", column + 1, " (I", column, "): ", excerpt, " is not a finite number");
}

}  // namespace

Key CriteoKey(uint32_t feature, absl::string_view text) { return XXH3_64bits_withSeed(text.data(), text.size(), feature); }

float CriteoDense(int64_t value) { return std::log(static_cast<float>(std::max<int64_t>(value, 0)) + 1.0f); }

bool ParseCriteoLine(absl::string_view line, CriteoLine* parsed, std::string* error) {
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto refuse = [&](uint32_t column) {
    *error = Explain(line, column);
    return false;
  };
  if (line.size() < 2 || (*at != '0' && *at != '1') || at[1] != '\t') return refuse(0);
  parsed->label = static_cast<float>(*at - '0');
  ++at;
  for (uint32_t i = 0; i < kCriteoIntegers; ++i) {
    if (at == end) return refuse(i + 1);
    ++at;  // the tab
    if (!ParseDense(&at, end, &parsed->dense[i])) return refuse(i + 1);
  }
  for (uint32_t i = 0; i < kCriteoCategories; ++i) {
    if (at == end) return refuse(kCriteoIntegers + i + 1);
    ++at;
    const absl::string_view text = FieldAt(at, end);
    parsed->keys[i] = CriteoKey(i, text);
    at += text.size();
  }
  if (at != end) return refuse(kCriteoColumns);
  return true;
}

}  // namespace weir::worker
