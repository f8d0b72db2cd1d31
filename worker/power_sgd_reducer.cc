#include "worker/power_sgd_reducer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/key.h"
#include "base/status_macros.h"
#include "compression/low_rank_layer.h"
#include "compression/vector_kernels.h"

namespace weir::worker {
namespace {

using compression::LowRankLayer;
using compression::LowRankShape;

struct Layer {
  ParameterSlice slice;
  std::unique_ptr<LowRankLayer> weights;  // null: the whole layer travels as it is
  compression::DctStats stats;

  uint32_t weight_count() const { return weights == nullptr ? 0 : slice.rows * slice.columns; }
  // What follows the weights that are compressed.
  uint32_t whole_count() const { return slice.size - weight_count(); }
};

class PowerSgdReducer final : public DenseReducer {
 public:
  PowerSgdReducer(std::vector<Layer> layers, std::unique_ptr<DenseReducer> sums) : layers_(std::move(layers)), sums_(std::move(sums)) {
    size_t first = 0, second = 0;
    for (const Layer& layer : layers_) {
      first += layer.whole_count() + (layer.weights == nullptr ? 0 : layer.weights->p_size());
      second += layer.weights == nullptr ? 0 : layer.weights->q_size();
    }
    first_.resize(first);
    second_.resize(second);
  }

  absl::StatusOr<uint64_t> Reduce(int64_t step, uint32_t samples, absl::Span<float> gradients) override {
    WEIR_RETURN_IF_ERROR(FillFirst(step, gradients));
    WEIR_ASSIGN_OR_RETURN(const uint64_t total, sums_->Reduce(step, samples, absl::MakeSpan(first_)));
    WEIR_RETURN_IF_ERROR(FillSecond(step, gradients));
    if (!second_.empty()) WEIR_RETURN_IF_ERROR(sums_->Reduce(step, samples, absl::MakeSpan(second_)).status());
    WEIR_RETURN_IF_ERROR(TakeSecond(step, gradients));
    return total;
  }

  void VisitState(StateVisitor* state) override {
    for (Layer& layer : layers_) {
      const StateVisitor::Scope scope(state, layer.slice.name);
      if (layer.weights != nullptr) layer.weights->VisitState(state);
    }
  }

  std::vector<client::CodecStats> TakeStats() override {
    std::vector<client::CodecStats> taken;
    for (Layer& layer : layers_) {
      client::CodecStats& stats = taken.emplace_back();
      stats.edge = "dense";
      stats.name = layer.slice.name;
      stats.stats = layer.stats;
      layer.stats.entries = layer.stats.kept = 0;
    }
    return taken;
  }

 private:
  static absl::Status Named(const absl::Status& status, const Layer& layer, int64_t step) {
    return absl::Status(status.code(), absl::StrCat("gradient of layer ", layer.slice.name, " at step ", step, ": ", status.message()));
  }

  absl::Status FillFirst(int64_t step, absl::Span<const float> gradients) {
    size_t at = 0;
    for (Layer& layer : layers_) {
      const absl::Span<const float> gradient = gradients.subspan(layer.slice.offset, layer.slice.size);
      layer.stats.gradient_norm = std::sqrt(compression::SumOfSquares(gradient));
      layer.stats.entries += gradient.size();
      layer.stats.kept += layer.whole_count();
      std::copy(gradient.begin() + layer.weight_count(), gradient.end(), first_.begin() + at);
      at += layer.whole_count();
      if (layer.weights == nullptr) continue;
      const absl::Span<float> p = absl::MakeSpan(first_).subspan(at, layer.weights->p_size());
      const absl::Status status = layer.weights->ProjectRows(gradient.first(layer.weight_count()), p);
      if (!status.ok()) return Named(status, layer, step);
      layer.stats.kept += layer.weights->p_size() + layer.weights->q_size();
      at += p.size();
    }
    return absl::OkStatus();
  }

  absl::Status FillSecond(int64_t step, absl::Span<float> gradients) {
    size_t at = 0, second_at = 0;
    for (Layer& layer : layers_) {
      std::copy_n(first_.begin() + at, layer.whole_count(), gradients.begin() + layer.slice.offset + layer.weight_count());
      at += layer.whole_count();
      if (layer.weights == nullptr) continue;
      const auto p = absl::MakeConstSpan(first_).subspan(at, layer.weights->p_size());
      const absl::Status status = layer.weights->ProjectColumns(p, absl::MakeSpan(second_).subspan(second_at, layer.weights->q_size()));
      if (!status.ok()) return Named(status, layer, step);
      at += p.size();
      second_at += layer.weights->q_size();
    }
    return absl::OkStatus();
  }

  absl::Status TakeSecond(int64_t step, absl::Span<float> gradients) {
    size_t at = 0;
    for (Layer& layer : layers_) {
      if (layer.weights == nullptr) continue;
      const auto q = absl::MakeConstSpan(second_).subspan(at, layer.weights->q_size());
      const absl::Status status = layer.weights->Reconstruct(q, gradients.subspan(layer.slice.offset, layer.weight_count()));
      if (!status.ok()) return Named(status, layer, step);
      layer.stats.residual_norm = std::sqrt(compression::SumOfSquares(layer.weights->residual()));
      at += q.size();
    }
    return absl::OkStatus();
  }

  std::vector<Layer> layers_;
  const std::unique_ptr<DenseReducer> sums_;
  std::vector<float> first_, second_;  // what the two all-reduces carry
};

bool Compresses(const ParameterSlice& slice, const Compression::Dense& codec) {
  const uint64_t weights = uint64_t{slice.rows} * slice.columns;
  return slice.size >= codec.min_elements() && uint64_t{codec.rank()} * (uint64_t{slice.rows} + slice.columns) < weights;
}

}  // namespace

std::unique_ptr<DenseReducer> CreatePowerSgdReducer(const std::vector<ParameterSlice>& layers, const PowerSgdOptions& options,
                                                    std::unique_ptr<DenseReducer> sums) {
  std::vector<Layer> made;
  for (const ParameterSlice& slice : layers) {
    Layer& layer = made.emplace_back();
    layer.slice = slice;
    if (!Compresses(slice, options.codec)) continue;
    const LowRankShape shape = {slice.rows, slice.columns, options.codec.rank()};
    layer.weights = std::make_unique<LowRankLayer>(shape, Mix64(options.seed, made.size()));
  }
  return std::make_unique<PowerSgdReducer>(std::move(made), std::move(sums));
}

}  // namespace weir::worker
