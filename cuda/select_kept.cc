#include "cuda/select_kept.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cuda/select_kept_kernel.h"

namespace weir::cuda {
namespace {

absl::Status Check(const SelectKeptInput& input, size_t size) {
  if (input.gradient->size() != size || input.residual->size() != size) {
    return absl::InvalidArgumentError(absl::StrCat("a gradient of ", input.gradient->size(), " entries and a residual of ",
                                                   input.residual->size(), " do not fit a selection of ", size));
  }
  if (!(input.threshold >= 0)) return absl::InvalidArgumentError(absl::StrCat("a threshold of ", input.threshold, "; it must be >= 0"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KeptSelection> KeptSelection::Create(uint32_t size) {
  KeptSelection selection;
  WEIR_ASSIGN_OR_RETURN(selection.positions, DeviceBuffer<uint32_t>::Create(size));
  WEIR_ASSIGN_OR_RETURN(selection.values, DeviceBuffer<float>::Create(size));
  WEIR_ASSIGN_OR_RETURN(selection.unsent, DeviceBuffer<float>::Create(size));
  return selection;
}

absl::Status SelectKept(const SelectKeptInput& input, KeptSelection* selection) {
  selection->count = 0;
  const size_t size = selection->unsent.size();
  WEIR_RETURN_IF_ERROR(Check(input, size));
  SelectKeptArrays arrays;
  arrays.gradient = input.gradient->data();
  arrays.residual = input.residual->data();
  arrays.threshold = input.threshold;
  arrays.size = size;
  arrays.positions = selection->positions.data();
  arrays.values = selection->values.data();
  arrays.unsent = selection->unsent.data();
  WEIR_ASSIGN_OR_RETURN(const SelectKeptResult result, RunSelectKept(arrays));
  if (result.finite < size) {
    return absl::InvalidArgumentError(absl::StrCat("gradient + residual is not finite at entry ", result.finite, " of ", size));
  }
  selection->count = result.kept;
  return absl::OkStatus();
}

}  // namespace weir::cuda
