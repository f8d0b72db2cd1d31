// DLRM's feature interaction: the dot products of all pairs of a sample's vectors (Naumov et al., 2019).
#ifndef WEIR_WORKER_LAYERS_DOT_INTERACTION_H_
#define WEIR_WORKER_LAYERS_DOT_INTERACTION_H_

#include <cstddef>

#include "hwy/aligned_allocator.h"
#include "worker/matrix.h"

namespace weir::worker {

// A sample has `vectors` vectors of width `dim`: vector 0 is the bottom MLP's output, the others are the pooled rows of its features.
// A row of the result is vector 0, then the dot products of vectors i and j for every j < i, ordered by i, then j, as Facebook's DLRM has
// them. Single-threaded (it owns scratch memory). Vectorised with run-time dispatch.
class DotInteraction {
 public:
  struct Shape {
    size_t vectors = 0;  // at least 1
    size_t dim = 0;

    size_t pair_count() const { return vectors * (vectors - 1) / 2; }
    size_t output_columns() const { return dim + pair_count(); }
  };

  explicit DotInteraction(Shape shape);
  const Shape& shape() const { return shape_; }

  // pooled: (vectors - 1) * dim columns. `output` holds vector 0 in its first `dim` columns already; the rest is written.
  void Forward(ConstMatrix pooled, Matrix output);

  // Writes pooled_gradient; turns the first `dim` columns of output_gradient into the whole gradient of vector 0.
  struct BackwardPass {
    ConstMatrix pooled;
    ConstMatrix output;
    Matrix output_gradient;
    Matrix pooled_gradient;
  };
  void Backward(const BackwardPass& pass);

 private:
  Shape shape_;
  hwy::AlignedFreeUniquePtr<float[]> scratch_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_LAYERS_DOT_INTERACTION_H_
