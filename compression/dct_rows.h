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
#include "compression/dct_layer.h"

namespace weir::compression {

// The residuals of one table on one worker, and its threshold. A row whose residual is all zero takes no memory. Single-threaded.
class DctRows {
 public:
  DctRows(uint32_t dim, DctOptions options);

  // Adds to the gradients (keys.size() x dim; keys are distinct) the residuals of their rows, picks one threshold over all of them (renewed
  // every refresh_every calls that have entries) and appends one frame of keys.size() x dim entries for each slice of keys: slice i
  // ends at key slice_ends[i], the last end is keys.size(). Commit or Rollback must follow, as for DctLayer. INVALID_ARGUMENT: not finite.
  absl::Status Encode(absl::Span<const Key> keys, absl::Span<const float> gradients, absl::Span<const uint32_t> slice_ends,
                      std::vector<std::string>* frames);
  void Commit();
  void Rollback();

  const DctStats& stats() const { return stats_; }
  // Residual of a row: dim values, or empty when there is none.
  absl::Span<const float> residual(Key key) const;
  uint64_t residual_rows() const { return slot_of_key_.size(); }

 private:
  void Store(bool drop_sent);

  const uint32_t dim_;
  const DctOptions options_;
  uint64_t step_ = 0;
  float threshold_ = 0;
  absl::flat_hash_map<Key, uint32_t> slot_of_key_;  // slot i: residuals_[i * dim, +dim)
  std::vector<float> residuals_;
  std::vector<uint32_t> free_slots_;
  std::vector<Key> keys_;         // of the encoding that is not settled yet
  std::vector<float> corrected_;
  std::vector<uint32_t> kept_;
  DctStats stats_;
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_DCT_ROWS_H_
