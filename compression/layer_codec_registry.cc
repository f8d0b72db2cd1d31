#include "compression/layer_codec_registry.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compression/dct_layer.h"
#include "compression/dgc_layer.h"
#include "compression/rounded_layer.h"
#include "compression/topk_layer.h"
#include "compression/value_type.h"

namespace weir::compression {
namespace {

// DctLayer, which needs no count of samples.
class DctLayerCodec final : public LayerCodec {
 public:
  DctLayerCodec(uint32_t size, uint32_t min_elements, DctOptions options) : layer_(size, min_elements, options) {}

  absl::Status Encode(absl::Span<const float> gradient, uint32_t, absl::Span<const uint32_t> slice_ends,
                      std::vector<std::string>* frames) override {
    return layer_.Encode(gradient, slice_ends, frames);
  }
  void Commit() override { layer_.Commit(); }
  void Rollback() override { layer_.Rollback(); }
  void SetDensityFactor(double factor) override { layer_.SetDensityFactor(factor); }
  void VisitState(StateVisitor* state) override { layer_.VisitState(state); }
  DctStats stats() const override { return layer_.stats(); }
  absl::Span<const float> residual() const override { return layer_.residual(); }

 private:
  DctLayer layer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LayerCodec>> MakeLayerCodec(const Compression::Dense& settings, const LayerPlace& place) {
  const ValueType values = ValuesOf(settings);
  switch (settings.method()) {
    case Compression::METHOD_FP16:
    case Compression::METHOD_BF16:
      return std::make_unique<RoundedLayer>(place.size, values);
    case Compression::METHOD_DCT:
      return std::make_unique<DctLayerCodec>(place.size, settings.min_elements(),
                                             DctOptions{settings.sparsity(), settings.refresh_every(), values});
    case Compression::METHOD_TOPK:
      return std::make_unique<TopkLayer>(place.size, settings.min_elements(), TopkOptions{settings.sparsity(), values});
    case Compression::METHOD_DGC:
      return std::make_unique<DgcLayer>(
          place.size, settings.min_elements(),
          DgcOptions{settings.sparsity(), values, settings.momentum(), settings.clip_norm(), settings.warmup_steps(), place.workers});
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("compression.dense.method: ", Compression::Method_Name(settings.method()),
                                                 " sends no frames of layers; use fp16, bf16, dct, topk or dgc"));
}

ValueType ValuesOf(const Compression::Dense& settings) {
  if (settings.method() == Compression::METHOD_FP16) return ValueType::kFp16;
  if (settings.method() == Compression::METHOD_BF16) return ValueType::kBf16;
  return ValueTypeOf(settings.values());
}

bool SendsWhole(const Compression::Dense& settings, uint32_t size) {
  if (settings.method() == Compression::METHOD_FP16 || settings.method() == Compression::METHOD_BF16) return true;
  return settings.sparsity() == 0 || size < settings.min_elements();
}

}  // namespace weir::compression
