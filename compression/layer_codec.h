// A dense codec: what one worker sends of one dense layer's gradients. One file each, and one line in
// layer_codec_registry.cc.
#ifndef WEIR_COMPRESSION_LAYER_CODEC_H_
#define WEIR_COMPRESSION_LAYER_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/state_visitor.h"
#include "compression/dct_layer.h"

namespace weir::compression {

// Single-threaded: one owner, one call at a time. tests/compression/layer_codec_test.cc is the conformance suite.
class LayerCodec {
 public:
  virtual ~LayerCodec() = default;

  // Encodes what is sent of `gradient`, the sum over this worker's `samples`, as one frame for each slice, which replace `frames`: slice i
  // ends at slice_ends[i], the last end is the layer's size. State that outlives the step (residuals, momentum) changes only with Commit or
  // Rollback, one of which must follow. INVALID_ARGUMENT, naming the position, when a value is not finite or cannot travel; then nothing
  // has changed and neither may follow. FAILED_PRECONDITION when neither followed the call before.
  virtual absl::Status Encode(absl::Span<const float> gradient, uint32_t samples, absl::Span<const uint32_t> slice_ends,
                              std::vector<std::string>* frames) = 0;
  // The frames were acknowledged: what they carried leaves the state.
  virtual void Commit() = 0;
  // They were given up: a codec with a residual keeps all of it, as when nothing had been selected.
  virtual void Rollback() = 0;

  // From the next encoding on: `factor`, at least 1, times as many entries as the settings say, at most all. No effect where nothing is
  // selected.
  virtual void SetDensityFactor(double factor) { static_cast<void>(factor); }

  // What is remembered from step to step. REQUIRES: no encoding is pending.
  virtual void VisitState(StateVisitor* state) { static_cast<void>(state); }

  // Of the last encoding.
  virtual DctStats stats() const = 0;
  // What was not sent yet, one for each entry; empty when the codec keeps none.
  virtual absl::Span<const float> residual() const { return {}; }
};

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_LAYER_CODEC_H_
