// "Did you mean": the known name nearest to one that is not known.
#ifndef WEIR_PROTO_NEAREST_NAME_H_
#define WEIR_PROTO_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir {

// Letters to insert, remove or replace to turn one into the other; two neighbours exchanged count as one (optimal string alignment).
int EditDistance(absl::string_view a, absl::string_view b);

// "; did you mean 'sparsity'?" when a known name is near, else "; known here: a, b, c".
std::string SuggestName(absl::string_view name, const std::vector<std::string>& known);

}  // namespace weir

#endif  // WEIR_PROTO_NEAREST_NAME_H_
