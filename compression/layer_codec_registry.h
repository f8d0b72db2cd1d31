// The dense codecs by their methods. Thread-safe (pure functions).
#ifndef WEIR_COMPRESSION_LAYER_CODEC_REGISTRY_H_
#define WEIR_COMPRESSION_LAYER_CODEC_REGISTRY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "compression/frame.h"
#include "compression/layer_codec.h"
#include "proto/job.pb.h"

namespace weir::compression {

// The layer that a codec is for.
struct LayerPlace {
  uint32_t size = 1;     // entries, at least one
  uint32_t workers = 1;  // that sum their gradients
};

// settings: validated, defaults set. INVALID_ARGUMENT: a method that does not send frames of layers.
absl::StatusOr<std::unique_ptr<LayerCodec>> MakeLayerCodec(const Compression::Dense& settings, const LayerPlace& place);

// How the values of a method's frames travel, from workers and back as sums.
ValueType ValuesOf(const Compression::Dense& settings);

// Whether a layer of `size` entries travels whole: only zeros are left out.
bool SendsWhole(const Compression::Dense& settings, uint32_t size);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_LAYER_CODEC_REGISTRY_H_
