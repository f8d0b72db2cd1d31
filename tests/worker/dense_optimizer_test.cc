#include "tests/worker/reference.h"
#include "worker/dense_model.h"

namespace weir::worker {
namespace {

constexpr size_t kSize = 37;  // whole vectors and lone numbers
constexpr float kScale = 0.25f;
constexpr float kShare = 0.5f;  // of the learning rate
constexpr int kSteps = 5;

Optimizer Config(Optimizer::Type type) {
  Optimizer config;
  config.set_type(type);
  config.set_learning_rate(0.1);
  config.set_epsilon(1e-3);
  config.set_initial_accumulator(0.5);
  config.set_beta1(0.9);
  config.set_beta2(0.99);
  return config;
}

// What `step` does to one parameter, beside what the optimizer does to the vector. step(t, g, &parameter, &first, &second) in double.
template <class Step>
void CheckOptimizer(Optimizer::Type type, double first_value, Step step) {
  auto optimizer = CreateDenseOptimizer(Config(type), kSize);
  ASSERT_TRUE(optimizer.ok()) << optimizer.status();
  std::vector<float> parameters = RandomFloats(kSize, 1);
  std::vector<double> expected = ToDouble(parameters), first(kSize, first_value), second(kSize, 0.0);
  for (int t = 1; t <= kSteps; ++t) {
    const std::vector<float> gradients = RandomFloats(kSize, 100 + t);
    (*optimizer)->Update(absl::MakeSpan(parameters), gradients, {kScale, kShare});
    for (size_t i = 0; i < kSize; ++i) step(t, double{gradients[i]} * kScale, &expected[i], &first[i], &second[i]);
    ExpectClose(parameters, expected, 1e-6);
  }
}

TEST(DenseOptimizerTest, Sgd) {
  CheckOptimizer(Optimizer::TYPE_SGD, 0, [](int, double g, double* w, double*, double*) { *w -= kShare * 0.1 * g; });
}

TEST(DenseOptimizerTest, Adagrad) {
  CheckOptimizer(Optimizer::TYPE_ADAGRAD, 0.5, [](int, double g, double* w, double* sum, double*) {
    *sum += g * g;
    *w -= kShare * 0.1 * g / (std::sqrt(*sum) + 1e-3);
  });
}

TEST(DenseOptimizerTest, AdamCorrectsItsBias) {
  CheckOptimizer(Optimizer::TYPE_ADAM, 0, [](int t, double g, double* w, double* mean, double* square) {
    *mean = 0.9 * *mean + 0.1 * g;
    *square = 0.99 * *square + 0.01 * g * g;
    *w -= kShare * 0.1 * (*mean / (1 - std::pow(0.9, t))) / (std::sqrt(*square / (1 - std::pow(0.99, t))) + 1e-3);
  });
}

TEST(DenseOptimizerTest, AGradientOfZeroMovesNothing) {
  for (const Optimizer::Type type : {Optimizer::TYPE_SGD, Optimizer::TYPE_ADAGRAD, Optimizer::TYPE_ADAM}) {
    auto optimizer = *CreateDenseOptimizer(Config(type), kSize);
    std::vector<float> parameters = RandomFloats(kSize, 1);
    const std::vector<float> before = parameters;
    optimizer->Update(absl::MakeSpan(parameters), std::vector<float>(kSize, 0.0f), {1.0f});
    EXPECT_EQ(parameters, before);
  }
}

TEST(DenseOptimizerTest, RefusesWhatIsForEmbeddingsOnlyOrUnknown) {
  const absl::Status rowwise = CreateDenseOptimizer(Config(Optimizer::TYPE_ROWWISE_ADAGRAD), kSize).status();
  EXPECT_EQ(rowwise.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(rowwise.message()), testing::HasSubstr("use adagrad"));
  EXPECT_EQ(CreateDenseOptimizer(Optimizer(), kSize).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::worker
