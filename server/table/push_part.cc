#include "server/table/push_part.h"

#include "absl/strings/str_cat.h"

namespace weir::server {

std::string ToString(const PartId& id) { return absl::StrCat("part ", id.part, " of step ", id.step, " of worker ", id.worker_rank); }

}  // namespace weir::server
