// A stack of fully connected layers, ReLU between them.
#ifndef WEIR_WORKER_LAYERS_MLP_H_
#define WEIR_WORKER_LAYERS_MLP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "worker/layers/linear.h"
#include "worker/layers/threshold_cut.h"
#include "worker/matrix.h"

namespace weir::worker {

// Keeps the hidden activations of a whole batch, but hidden gradients only for the rows of one Backward. Single-threaded.
class Mlp {
 public:
  // Widths must not be empty; `last` is the activation of the last layer.
  static std::vector<Linear::Shape> Shapes(size_t inputs, absl::Span<const uint32_t> widths, Activation last);

  // The spans hold the layers' parameters one after the other and outlive the stack.
  Mlp(absl::Span<const Linear::Shape> shapes, absl::Span<float> parameters, absl::Span<float> gradients);

  // batch: rows that Forward will name; block: rows of one Backward.
  struct Rows {
    size_t batch = 0;
    size_t block = 0;
  };
  void Reserve(Rows rows);

  // What layer `layer` puts out crosses `cut`, which outlives the stack; before the first Reserve.
  void CutAfter(size_t layer, ThresholdCut* cut) { layers_[layer].cut = cut; }

  // Samples [first, first + input.rows) of the batch.
  void Forward(size_t first, ConstMatrix input, Matrix output);
  // Adds to the gradients, layer by layer from the last one, and tells of each that is done. REQUIRES: Forward of the same rows, and no
  // Reserve since.
  using LayerDone = absl::FunctionRef<void(size_t layer)>;
  void Backward(
      size_t first, const LayerBackward& pass, LayerDone done = [](size_t) {});

 private:
  struct Layer {
    Linear linear;
    MatrixBuffer output;           // of the batch; unused in the last layer, whose output is the caller's
    MatrixBuffer output_gradient;  // of a block; likewise
    ThresholdCut* cut = nullptr;
  };

  std::vector<Layer> layers_;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_LAYERS_MLP_H_
