// What one sparse encoding takes out of the corrected gradient, and how it is put back: shared by the codecs that keep a residual (seen by
// no one else).
#ifndef WEIR_COMPRESSION_KEPT_ENTRIES_H_
#define WEIR_COMPRESSION_KEPT_ENTRIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compression/frame.h"

namespace weir::compression {

// OK when the ends do not decrease, the last is `size`, and slices of `width` entries each fit frames.
absl::Status CheckSlices(absl::Span<const uint32_t> slice_ends, size_t size, uint32_t width);

// INVALID_ARGUMENT that names the first position of `sums` that is not finite, with `gradient` to tell whether that came from outside.
absl::Status NotFinite(absl::Span<const float> gradient, absl::Span<const float> sums);

struct Slices {
  absl::Span<const uint32_t> ends;  // in units of `width` entries
  uint32_t width = 1;
};

// Single-threaded. Buffers are reused from encoding to encoding.
class KeptEntries {
 public:
  // Takes from `corrected` the entries of at least `threshold` and appends one frame of them for each slice; ends count units of `width`
  // entries. What remains at a kept position is what the frames do not carry: the rounding, and what is beyond the type's range. An entry
  // that fp16 or bf16 would round to zero is not kept. REQUIRES: CheckSlices was OK.
  absl::Status Encode(float threshold, Slices slices, ValueType type, absl::Span<float> corrected, std::vector<std::string>* frames);
  // The same where `corrected` is still to be made of gradient + residual, in one pass with the selection. `norms` are of the gradient, and
  // of what remains in `corrected`. INVALID_ARGUMENT (NotFinite): a sum that is not finite; nothing was encoded.
  struct Norms {
    double gradient = 0;
    double residual = 0;
  };
  absl::Status EncodeSum(absl::Span<const float> gradient, absl::Span<const float> residual, float threshold, Slices slices, ValueType type,
                         absl::Span<float> corrected, std::vector<std::string>* frames, Norms* norms);
  // The same with the `count` largest entries, exactly: of equal magnitudes those that stand first. Entries that are zero, or that the type
  // would round to zero, are not kept even so.
  absl::Status EncodeLargest(uint32_t count, Slices slices, ValueType type, absl::Span<float> corrected, std::vector<std::string>* frames);
  // Undoes what Encode did to `corrected`, bit for bit.
  void PutBack(absl::Span<float> corrected) const;

  size_t size() const { return positions_.size(); }
  // Increasing.
  absl::Span<const uint32_t> positions() const { return positions_; }
  // Of the last EncodeLargest: the count-th largest magnitude.
  float least() const { return least_; }

 private:
  // Encodes the entries at positions_.
  absl::Status EncodePositions(Slices slices, ValueType type, absl::Span<float> corrected, std::vector<std::string>* frames);

  float least_ = 0;
  std::vector<uint32_t> positions_;
  std::vector<float> corrected_values_;
  std::vector<float> sent_values_;
  std::vector<uint32_t> slice_positions_;  // of one slice, from its own beginning
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_KEPT_ENTRIES_H_
