// The optimizer of a table's rows. The definitions are those of the dense layers (PyTorch's): epsilon is added outside the square root.
#ifndef WEIR_SERVER_OPTIMIZER_ROW_OPTIMIZER_H_
#define WEIR_SERVER_OPTIMIZER_ROW_OPTIMIZER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "proto/step_scales.h"

namespace weir::server {

// One row of a batch. `weights` and `gradient` have the optimizer's dim entries, `slots` its slot_floats(); none of them overlap.
struct RowUpdate {
  float* weights = nullptr;
  float* slots = nullptr;
  const float* gradient = nullptr;
};

// All the state of a row is in its slots, so a copy of weights and slots goes on exactly as the original would. Immutable, thread-safe; two
// calls at a time must not name the same row.
class RowOptimizer {
 public:
  explicit RowOptimizer(uint32_t dim) : dim_(dim) {}
  virtual ~RowOptimizer() = default;

  uint32_t dim() const { return dim_; }
  // Floats of state that a row needs beside its weights.
  virtual uint32_t slot_floats() const = 0;
  // Writes the state of a row that has never been updated.
  virtual void InitializeSlots(absl::Span<float> slots) const = 0;
  // One step of each row with gradient * scales.gradient and the learning rate times scales.rate. REQUIRES: finite gradients, distinct
  // rows.
  virtual void Update(absl::Span<const RowUpdate> rows, StepScales scales) const = 0;

 private:
  const uint32_t dim_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_OPTIMIZER_ROW_OPTIMIZER_H_
