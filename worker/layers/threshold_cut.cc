#include "worker/layers/threshold_cut.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/types/span.h"
#include "base/key.h"
#include "compression/threshold.h"
#include "compression/vector_kernels.h"

namespace weir::worker {
namespace {

// Names the sketch's stream of random numbers.
constexpr uint64_t kSketchStream = 0x736b657463680000;  // "sketch"

absl::Span<float> RowOf(Matrix matrix, size_t row) { return {matrix.data + row * matrix.stride, matrix.columns}; }

bool Finite(absl::Span<const float> values) { return compression::MaxMagnitudeBits(values) < compression::kInfinityBits; }

}  // namespace

ThresholdCut::ThresholdCut(const Cut& cut, size_t columns, uint64_t seed) : cut_(cut), columns_(columns) {
  if (cut.method() != Cut::METHOD_GAUSSIAN_SKETCH) return;
  const size_t rows = std::max<size_t>(1, static_cast<size_t>(std::llround((1 - cut.sparsity()) * static_cast<double>(columns))));
  sketch_.resize(rows * columns);
  const uint64_t stream = Mix64(seed, kSketchStream);
  // Box and Muller; of each pair of numbers one is used.
  for (size_t i = 0; i < sketch_.size(); ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - KeyedUniform(stream, 2 * i)));
    sketch_[i] = static_cast<float>(radius * std::cos(6.283185307179586 * KeyedUniform(stream, 2 * i + 1)));
  }
}

void ThresholdCut::Reserve(size_t batch) {
  const bool keeps = cut_.method() == Cut::METHOD_GAUSSIAN_SKETCH || cut_.method() == Cut::METHOD_GRADIENT_TOPK;
  if (keeps && kept_back_.size() < batch * columns_) kept_back_.resize(batch * columns_);
}

void ThresholdCut::Keep(Matrix values, absl::Span<const float> row_thresholds) {
  for (size_t row = 0; row < values.rows; ++row) {
    const float threshold = row_thresholds[row];
    uint64_t kept = 0;
    for (float& value : RowOf(values, row)) {
      const bool keep = !(std::fabs(value) < threshold);  // NaN stays
      value = keep ? value : 0;
      kept += keep && value != 0;
    }
    if (training_) count_.kept += kept;
  }
}

void ThresholdCut::Sketch(size_t first, Matrix activations) {
  const size_t rows = sketch_.size() / columns_;
  scratch_.resize(columns_);
  for (size_t i = 0; i < activations.rows; ++i) {
    const absl::Span<float> x = RowOf(activations, i);
    std::copy(x.begin(), x.end(), kept_back_.begin() + (first + i) * columns_);
    std::fill(scratch_.begin(), scratch_.end(), 0.0f);
    for (size_t r = 0; r < rows; ++r) {
      const float* const s = &sketch_[r * columns_];
      float dot = 0;
      for (size_t j = 0; j < columns_; ++j) dot += s[j] * x[j];
      dot /= static_cast<float>(rows);
      for (size_t j = 0; j < columns_; ++j) scratch_[j] += dot * s[j];
    }
    std::copy(scratch_.begin(), scratch_.end(), x.begin());
    if (training_) count_.kept += rows;
  }
}

void ThresholdCut::Forward(size_t first, Matrix activations) {
  if (training_) count_.entries += activations.rows * activations.columns;
  std::vector<float> thresholds(activations.rows, 0.0f);
  switch (cut_.method()) {
    case Cut::METHOD_GAUSSIAN_SKETCH:
      return Sketch(first, activations);
    case Cut::METHOD_LAPLACE:
      if (training_) {
        scratch_.clear();
        for (size_t row = 0; row < activations.rows; ++row) {
          const absl::Span<float> values = RowOf(activations, row);
          scratch_.insert(scratch_.end(), values.begin(), values.end());
        }
        if (Finite(scratch_)) laplace_threshold_ = compression::LaplaceThreshold(scratch_, cut_.sparsity());
      }
      std::fill(thresholds.begin(), thresholds.end(), laplace_threshold_);
      break;
    case Cut::METHOD_EXACT:
      for (size_t row = 0; row < activations.rows; ++row) {
        const absl::Span<float> values = RowOf(activations, row);
        if (Finite(values)) thresholds[row] = compression::MagnitudeThreshold(values, cut_.sparsity());
      }
      break;
    default:  // gradient_topk: all of it crosses
      break;
  }
  Keep(activations, thresholds);
}

ConstMatrix ThresholdCut::Backward(size_t first, ConstMatrix activations, Matrix gradient) {
  if (cut_.method() == Cut::METHOD_GAUSSIAN_SKETCH) return {&kept_back_[first * columns_], activations.rows, columns_, columns_};
  if (cut_.method() != Cut::METHOD_GRADIENT_TOPK) return activations;
  for (size_t row = 0; row < gradient.rows; ++row) {
    const absl::Span<float> values = RowOf(gradient, row);
    const absl::Span<float> residual = absl::MakeSpan(kept_back_).subspan((first + row) * columns_, columns_);
    for (size_t i = 0; i < columns_; ++i) residual[i] += values[i];
    if (!Finite(residual)) {
      std::copy(residual.begin(), residual.end(), values.begin());
      std::fill(residual.begin(), residual.end(), 0.0f);
      continue;
    }
    const float threshold = compression::MagnitudeThreshold(residual, cut_.sparsity());
    for (size_t i = 0; i < columns_; ++i) {
      const bool keep = std::fabs(residual[i]) >= threshold;
      values[i] = keep ? residual[i] : 0;
      residual[i] = keep ? 0 : residual[i];
    }
  }
  return activations;
}

void ThresholdCut::VisitState(StateVisitor* state) {
  state->Real("laplace_threshold", &laplace_threshold_);
  if (cut_.method() == Cut::METHOD_GRADIENT_TOPK) state->Vector("kept_back", &kept_back_);
}

ThresholdCut::Count ThresholdCut::TakeCount() { return std::exchange(count_, Count()); }

}  // namespace weir::worker
