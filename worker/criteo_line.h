// One line of Criteo's TSV format: label, 13 integers, 26 categories, tab separated.
#ifndef WEIR_WORKER_CRITEO_LINE_H_
#define WEIR_WORKER_CRITEO_LINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/key.h"

namespace weir::worker {

inline constexpr uint32_t kCriteoIntegers = 13;
inline constexpr uint32_t kCriteoCategories = 26;
inline constexpr uint32_t kCriteoColumns = 1 + kCriteoIntegers + kCriteoCategories;

struct CriteoLine {
  float label = 0;                    // 0 or 1
  float dense[kCriteoIntegers] = {};  // log(max(value, 0) + 1); 0 where the field is empty
  Key keys[kCriteoCategories] = {};   // CriteoKey(c, text); an empty field is the empty text: "missing" is a category like any other
};

// Key of category `feature` (0 is C1): XXH3-64 of the text, seeded with the feature, so that the same text means another row in each.
// Part of the format of trained models: never changes (golden test).
Key CriteoKey(uint32_t feature, absl::string_view text);

// log(max(value, 0) + 1).
float CriteoDense(int64_t value);

// Parses a line without its end. False for a bad row: `error` says which column (from 1) and why, `parsed` holds anything. A dense value
// may also be a decimal number ("3.5", "1e3"); it must be finite.
bool ParseCriteoLine(absl::string_view line, CriteoLine* parsed, std::string* error);

}  // namespace weir::worker

#endif  // WEIR_WORKER_CRITEO_LINE_H_
