// One training step of the paper's DLRM on one core, against nothing but its matrix products: the bound of any implementation on the same
// matrix library. The bare products run between the steps, so that both see the same machine. Counters: samples/s; GFLOP/s of the step;
// GFLOP/s of the products (sgemm); the step's share of that (of_sgemm); GFLOP/s of a product of 1,024 x 1,024 matrices, the best that the
// library does (best_sgemm), and the step's share of that (of_best). BM_DlrmStepBf16: the same with training.precision: bf16 and, beside
// it, fp32 (of_fp32: steps in bf16 over steps in fp32).
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/key.h"
#include "worker/dense_model.h"
#include "worker/matrix.h"

namespace weir::worker {
namespace {

constexpr uint32_t kDim = 16;
constexpr uint32_t kDenseFeatures = 13;
constexpr uint32_t kSparseFeatures = 26;
// A sample, forward and backward: 486 k multiply-adds in each of three passes (output, input gradient, weight gradient).
constexpr double kTrainFlops = 2.0 * 3 * 486'000;

struct LayerShape {
  size_t inputs;
  size_t outputs;
};
constexpr LayerShape kLayers[] = {{13, 512}, {512, 256}, {256, 64}, {64, 16}, {367, 512}, {512, 256}, {256, 1}};

std::vector<float> RandomVector(size_t size, uint64_t stream) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(KeyedUniform(stream, i) - 0.5);
  return values;
}

std::unique_ptr<DenseModel> PaperModel() {
  Model model;
  model.set_type(Model::TYPE_DLRM);
  for (const uint32_t width : {512u, 256u, 64u, kDim}) model.add_bottom(width);
  for (const uint32_t width : {512u, 256u, 1u}) model.add_top(width);
  DataSchema schema;
  schema.dense_features = kDenseFeatures;
  schema.sparse_features.resize(kSparseFeatures);
  return *CreateDenseModel(model, schema, kDim, 1);
}

// A training step of the model, over and over on the same samples.
class PaperStep {
 public:
  explicit PaperStep(uint32_t samples)
      : dense_(RandomVector(samples * kDenseFeatures, 1)),
        pooled_(RandomVector(size_t{samples} * kSparseFeatures * kDim, 2)),
        logit_gradient_(RandomVector(samples, 3)),
        logits_(samples),
        pooled_gradient_(pooled_.size()) {}

  void Run() {
    model_->Forward(static_cast<uint32_t>(logits_.size()), dense_, pooled_, absl::MakeSpan(logits_));
    model_->Backward(logit_gradient_, absl::MakeSpan(pooled_gradient_));
  }

 private:
  const std::unique_ptr<DenseModel> model_ = PaperModel();
  const std::vector<float> dense_, pooled_, logit_gradient_;
  std::vector<float> logits_, pooled_gradient_;
};

// The matrix products of one step, over buffers of the same sizes.
class BareProducts {
 public:
  explicit BareProducts(size_t samples) {
    for (const LayerShape& shape : kLayers) {
      layers_.push_back({{samples, shape.inputs}, {shape.outputs, shape.inputs}, {samples, shape.outputs}});
    }
  }

  void Run() const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      Multiply(Product::kABt, layer.input.matrix, layer.weights.matrix, Into::kOverwrite, layer.output.matrix);
      Multiply(Product::kAtB, layer.output.matrix, layer.input.matrix, Into::kOverwrite, layer.weights.matrix);
      // Nobody wants the gradient of the dense features.
      if (i > 0) Multiply(Product::kAB, layer.output.matrix, layer.weights.matrix, Into::kOverwrite, layer.input.matrix);
    }
  }

 private:
  struct Operand {
    Operand(size_t rows, size_t columns) : memory(rows * columns), matrix{memory.data(), rows, columns, columns} {}
    std::vector<float> memory;
    Matrix matrix;
  };
  struct Layer {
    Operand input;
    Operand weights;
    Operand output;
  };

  std::vector<Layer> layers_;
};

// A large product, where nothing but the multiplications counts.
class LargeProduct {
 public:
  static constexpr size_t kSide = 1024;
  static constexpr double kFlops = 2.0 * kSide * kSide * kSide;

  void Run() { Multiply(Product::kABt, Of(&a_), Of(&b_), Into::kOverwrite, Of(&c_)); }

 private:
  static Matrix Of(std::vector<float>* memory) { return {memory->data(), kSide, kSide, kSide}; }
  std::vector<float> a_ = RandomVector(kSide * kSide, 4);
  std::vector<float> b_ = RandomVector(kSide * kSide, 5);
  std::vector<float> c_ = std::vector<float>(kSide * kSide);
};

void BM_DlrmStep(benchmark::State& state) {
  SetMatrixThreads(1);
  const auto samples = static_cast<uint32_t>(state.range(0));
  PaperStep step(samples);
  const BareProducts products(samples);

  using Clock = std::chrono::steady_clock;
  LargeProduct large;
  Clock::duration in_steps{}, in_products{}, in_large{};
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    step.Run();
    const Clock::time_point middle = Clock::now();
    products.Run();
    const Clock::time_point end = Clock::now();
    large.Run();
    in_large += Clock::now() - end;
    in_products += end - middle;
    in_steps += middle - start;
    state.SetIterationTime(std::chrono::duration<double>(middle - start).count());
  }
  const double total = static_cast<double>(state.iterations()) * samples;
  const double step_rate = total / std::chrono::duration<double>(in_steps).count();
  const double product_rate = total / std::chrono::duration<double>(in_products).count();
  state.counters["samples/s"] = step_rate;
  state.counters["GFLOP/s"] = step_rate * kTrainFlops / 1e9;
  state.counters["sgemm"] = product_rate * kTrainFlops / 1e9;
  state.counters["of_sgemm"] = step_rate / product_rate;
  const double best = static_cast<double>(state.iterations()) * LargeProduct::kFlops / std::chrono::duration<double>(in_large).count();
  state.counters["best_sgemm"] = best / 1e9;
  state.counters["of_best"] = step_rate * kTrainFlops / best;
}
BENCHMARK(BM_DlrmStep)->Arg(128)->Arg(1024)->Arg(2048)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_DlrmStepBf16(benchmark::State& state) {
  SetMatrixThreads(1);
  const auto samples = static_cast<uint32_t>(state.range(0));
  PaperStep step(samples);
  const auto seconds_of = [&](Precision precision) {
    if (const absl::Status status = SetMatrixPrecision(precision); !status.ok()) state.SkipWithError(std::string(status.message()).c_str());
    const auto start = std::chrono::steady_clock::now();
    step.Run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double bf16 = 0, fp32 = 0;
  for (auto _ : state) {
    const double seconds = seconds_of(Precision::kBf16);
    fp32 += seconds_of(Precision::kFp32);
    bf16 += seconds;
    state.SetIterationTime(seconds);
  }
  state.counters["samples/s"] = static_cast<double>(state.iterations()) * samples / bf16;
  state.counters["of_fp32"] = fp32 / bf16;
}
BENCHMARK(BM_DlrmStepBf16)->Arg(2048)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::worker

BENCHMARK_MAIN();
