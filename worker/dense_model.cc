#include "worker/dense_model.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker/dlrm.h"

namespace weir::worker {

absl::StatusOr<std::unique_ptr<DenseModel>> CreateDenseModel(const Model& model, const DataSchema& schema, uint32_t dim, uint64_t seed) {
  switch (model.type()) {
    case Model::TYPE_DLRM:
      return Dlrm::Create(model, schema, dim, seed);
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("model.type: ", static_cast<int>(model.type()), " is no model of this version; use dlrm"));
}

}  // namespace weir::worker
