#include "proto/nearest_name.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir {

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string SuggestName(absl::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kNameBytesMax = 100;  // a longer one resembles nothing, and the distance is quadratic
  const std::string* nearest = nullptr;
  int nearest_distance = 0;
  if (name.size() <= kNameBytesMax) {
    for (const std::string& candidate : known) {
      const int distance = EditDistance(name, candidate);
      if (nearest != nullptr && distance >= nearest_distance) continue;
      nearest = &candidate;
      nearest_distance = distance;
    }
  }
  const int far = std::max<int>(2, static_cast<int>(name.size()) / 3);
  if (nearest != nullptr && nearest_distance <= far) return absl::StrCat("; did you mean '", *nearest, "'?");
  return absl::StrCat("; known here: ", absl::StrJoin(known, ", "));
}

}  // namespace weir
