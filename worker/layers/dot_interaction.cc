#include "worker/layers/dot_interaction.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/layers/dot_interaction.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef WEIR_WORKER_LAYERS_DOT_INTERACTION_ONCE_
#define WEIR_WORKER_LAYERS_DOT_INTERACTION_ONCE_
namespace weir::worker {

// Widest vector of any target, in floats: scratch rows are padded to it.
constexpr size_t kPad = 16;
constexpr size_t Padded(size_t count) { return (count + kPad - 1) / kPad * kPad; }
// Rows of the result made at once, so that a loaded vector is used that often.
constexpr size_t kTileRows = 4;

// The parts of the scratch memory. Padding is zero from the start and stays so.
struct InteractionScratch {
  static size_t Floats(DotInteraction::Shape shape) {
    const size_t columns = Padded(shape.vectors);
    return (shape.dim + columns) * columns + Padded(shape.pair_count()) + kPad + 2 * shape.vectors * Padded(shape.dim);
  }

  InteractionScratch(DotInteraction::Shape shape, float* memory)
      : columns(Padded(shape.vectors)),
        width(Padded(shape.dim)),
        transposed(memory),
        square(transposed + shape.dim * columns),
        packed(square + columns * columns),
        vectors(packed + Padded(shape.pair_count()) + kPad),
        gradients(vectors + shape.vectors * width) {}

  size_t columns;     // of `transposed` and `square`
  size_t width;       // of a row of `vectors` and `gradients`
  float* transposed;  // [dim][columns]: number k of every vector
  float* square;      // [columns][columns]: dot products, those above the diagonal in part
  float* packed;      // the pairs of one sample; kPad more at the end, which whole vectors may overrun
  float* vectors;     // [vectors][width]
  float* gradients;   // [vectors][width]
};

}  // namespace weir::worker
#endif  // WEIR_WORKER_LAYERS_DOT_INTERACTION_ONCE_

HWY_BEFORE_NAMESPACE();
namespace weir::worker {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// No more lanes than the padding has.
using Tag = hn::CappedTag<float, kPad>;

// square[i][j] = dot product, for kTileRows rows i from `row` and all j <= i.
HWY_INLINE void DotTile(DotInteraction::Shape shape, const InteractionScratch& scratch, size_t row) {
  const Tag d;
  for (size_t column = 0; column < row + kTileRows; column += hn::Lanes(d)) {
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    const float* HWY_RESTRICT line = scratch.transposed;
    for (size_t k = 0; k < shape.dim; ++k, line += scratch.columns) {
      const auto right = hn::Load(d, line + column);
      sum0 = hn::MulAdd(hn::Set(d, line[row]), right, sum0);
      sum1 = hn::MulAdd(hn::Set(d, line[row + 1]), right, sum1);
      sum2 = hn::MulAdd(hn::Set(d, line[row + 2]), right, sum2);
      sum3 = hn::MulAdd(hn::Set(d, line[row + 3]), right, sum3);
    }
    float* HWY_RESTRICT out = scratch.square + row * scratch.columns + column;
    hn::Store(sum0, d, out);
    hn::Store(sum1, d, out + scratch.columns);
    hn::Store(sum2, d, out + 2 * scratch.columns);
    hn::Store(sum3, d, out + 3 * scratch.columns);
  }
}

void InteractForward(DotInteraction::Shape shape, float* memory, ConstMatrix pooled, Matrix output) {
  const Tag d;
  const InteractionScratch scratch(shape, memory);
  for (size_t sample = 0; sample < output.rows; ++sample) {
    float* HWY_RESTRICT out = output.Row(sample);
    const float* HWY_RESTRICT others = pooled.Row(sample);
    for (size_t k = 0; k < shape.dim; ++k) {
      float* HWY_RESTRICT line = scratch.transposed + k * scratch.columns;
      line[0] = out[k];
      for (size_t i = 1; i < shape.vectors; ++i) line[i] = others[(i - 1) * shape.dim + k];
    }
    for (size_t row = 0; row < shape.vectors; row += kTileRows) DotTile(shape, scratch, row);
    // Whole vectors; what a row writes too much the next one overwrites.
    float* HWY_RESTRICT packed = scratch.packed;
    for (size_t i = 1; i < shape.vectors; packed += i, ++i) {
      const float* HWY_RESTRICT row = scratch.square + i * scratch.columns;
      for (size_t j = 0; j < i; j += hn::Lanes(d)) hn::StoreU(hn::Load(d, row + j), d, packed + j);
    }
    std::memcpy(out + shape.dim, scratch.packed, shape.pair_count() * sizeof(float));
  }
}

// gradients[i] = sum of pair gradients (i, j) times vectors[j], one vector's width from `column`.
HWY_INLINE void GradientStrip(DotInteraction::Shape shape, const InteractionScratch& scratch, const float* HWY_RESTRICT pairs,
                              size_t column) {
  const Tag d;
  const float* HWY_RESTRICT vectors = scratch.vectors + column;
  float* HWY_RESTRICT gradients = scratch.gradients + column;
  const size_t width = scratch.width;
  hn::Store(hn::Zero(d), d, gradients);
  for (size_t i = 1; i < shape.vectors; pairs += i, ++i) {
    const auto vector = hn::Load(d, vectors + i * width);
    auto even = hn::Zero(d), odd = hn::Zero(d);
    size_t j = 0;
    for (; j + 2 <= i; j += 2) {
      const auto pair0 = hn::Set(d, pairs[j]), pair1 = hn::Set(d, pairs[j + 1]);
      even = hn::MulAdd(pair0, hn::Load(d, vectors + j * width), even);
      odd = hn::MulAdd(pair1, hn::Load(d, vectors + (j + 1) * width), odd);
      float* HWY_RESTRICT other = gradients + j * width;
      hn::Store(hn::MulAdd(pair0, vector, hn::Load(d, other)), d, other);
      hn::Store(hn::MulAdd(pair1, vector, hn::Load(d, other + width)), d, other + width);
    }
    if (j < i) {
      const auto pair = hn::Set(d, pairs[j]);
      even = hn::MulAdd(pair, hn::Load(d, vectors + j * width), even);
      hn::Store(hn::MulAdd(pair, vector, hn::Load(d, gradients + j * width)), d, gradients + j * width);
    }
    hn::Store(hn::Add(even, odd), d, gradients + i * width);
  }
}

void InteractBackward(DotInteraction::Shape shape, float* memory, const DotInteraction::BackwardPass& pass) {
  const Tag d;
  const InteractionScratch scratch(shape, memory);
  const size_t vector_bytes = shape.dim * sizeof(float);
  for (size_t sample = 0; sample < pass.output.rows; ++sample) {
    const float* pooled = pass.pooled.Row(sample);
    std::memcpy(scratch.vectors, pass.output.Row(sample), vector_bytes);
    for (size_t i = 1; i < shape.vectors; ++i) std::memcpy(scratch.vectors + i * scratch.width, pooled + (i - 1) * shape.dim, vector_bytes);

    float* HWY_RESTRICT output_gradient = pass.output_gradient.Row(sample);
    for (size_t column = 0; column < shape.dim; column += hn::Lanes(d)) GradientStrip(shape, scratch, output_gradient + shape.dim, column);

    float* pooled_gradient = pass.pooled_gradient.Row(sample);
    for (size_t k = 0; k < shape.dim; ++k) output_gradient[k] += scratch.gradients[k];
    for (size_t i = 1; i < shape.vectors; ++i) {
      std::memcpy(pooled_gradient + (i - 1) * shape.dim, scratch.gradients + i * scratch.width, vector_bytes);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::worker
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::worker {
namespace {
HWY_EXPORT(InteractForward);
HWY_EXPORT(InteractBackward);
}  // namespace

DotInteraction::DotInteraction(Shape shape) : shape_(shape) {
  const size_t count = InteractionScratch::Floats(shape);
  scratch_ = hwy::AllocateAligned<float>(count);
  std::fill_n(scratch_.get(), count, 0.0f);
}

void DotInteraction::Forward(ConstMatrix pooled, Matrix output) {
  HWY_DYNAMIC_DISPATCH(InteractForward)(shape_, scratch_.get(), pooled, output);
}

void DotInteraction::Backward(const BackwardPass& pass) { HWY_DYNAMIC_DISPATCH(InteractBackward)(shape_, scratch_.get(), pass); }

}  // namespace weir::worker
#endif  // HWY_ONCE
