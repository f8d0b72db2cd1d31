// fp16 and bf16 on the dense edge: every entry of a layer, rounded. Nothing is remembered.
#ifndef WEIR_COMPRESSION_ROUNDED_LAYER_H_
#define WEIR_COMPRESSION_ROUNDED_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compression/frame.h"
#include "compression/layer_codec.h"

namespace weir::compression {

// Single-threaded. As it has no residual, a value beyond the type's range is refused.
class RoundedLayer final : public LayerCodec {
 public:
  RoundedLayer(uint32_t size, ValueType values) : size_(size), values_(values) {}

  absl::Status Encode(absl::Span<const float> gradient, uint32_t samples, absl::Span<const uint32_t> slice_ends,
                      std::vector<std::string>* frames) override;
  void Commit() override { pending_ = false; }
  void Rollback() override { pending_ = false; }
  DctStats stats() const override { return stats_; }

 private:
  const uint32_t size_;
  const ValueType values_;
  bool pending_ = false;
  DctStats stats_;
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_ROUNDED_LAYER_H_
