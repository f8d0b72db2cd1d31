// DCT for row gradients: a threshold over all rows of one push of one table, and a residual for each row, which has a lasting identity.
#ifndef WEIR_COMPRESSION_DCT_ROWS_H_
#define WEIR_COMPRESSION_DCT_ROWS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "base/state_visitor.h"
#include "compression/dct_layer.h"
#include "compression/kept_entries.h"

namespace weir::compression {

// The residuals of one table on one worker, and its threshold. A row whose residual is all zero takes no memory of its own (what rows left
// is reused). Single-threaded.
class DctRows {
 public:
  DctRows(uint32_t dim, DctOptions options);

  // Adds to the gradients (keys.size() x dim; keys are distinct) the residuals of their rows, picks one threshold over all of them (renewed
  // every refresh_every calls that have entries) and appends one frame of keys.size() x dim entries for each slice of keys: slice i
  // ends at key slice_ends[i], the last end is keys.size(). Commit or Rollback must follow; rounding, zeros and errors as for DctLayer.
  absl::Status Encode(absl::Span<const Key> keys, absl::Span<const float> gradients, absl::Span<const uint32_t> slice_ends,
                      std::vector<std::string>* frames);
  void Commit();
  void Rollback();

  // As DctLayer's.
  void SetDensityFactor(double factor);

  // What is remembered from step to step. REQUIRES: no encoding is pending.
  void VisitState(StateVisitor* state);

  const DctStats& stats() const { return stats_; }
  // Residual of a row: dim values, or empty when there is none.
  absl::Span<const float> residual(Key key) const;
  uint64_t residual_rows() const { return slot_of_key_.size(); }

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  void FindSlots();
  // Bits of the largest magnitude of `corrected_`, which it fills.
  uint32_t AddResiduals(absl::Span<const float> gradients);
  // Makes row `index` of `corrected_` the residual of its key.
  void Store(size_t index);
  uint32_t NewSlot();
  float* Row(uint32_t slot);
  const float* Row(uint32_t slot) const;

  const uint32_t dim_;
  const DctOptions options_;
  double sparsity_;
  uint64_t step_ = 0;
  bool renew_ = false;  // the threshold, whatever the step
  float threshold_ = 0;
  absl::flat_hash_map<Key, uint32_t> slot_of_key_;
  std::vector<std::unique_ptr<float[]>> blocks_;  // rows by slot
  std::vector<uint32_t> free_slots_;

  bool pending_ = false;  // an encoding is not settled yet; the rest is about it
  std::vector<Key> keys_;
  std::vector<uint32_t> slots_;   // of each key, or kNoSlot
  std::vector<float> corrected_;  // gradients + residuals, less what was sent: the residuals that Commit makes valid
  KeptEntries kept_;              // what Rollback puts back
  DctStats stats_;
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_DCT_ROWS_H_
