// One suite for every row optimizer: closed-form numbers, a scalar reference in double over random steps, and state that is all in the
// slots.
#include "server/optimizer/row_optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/key.h"
#include "server/optimizer/adagrad.h"
#include "server/optimizer/adam.h"
#include "server/optimizer/row_optimizer_registry.h"
#include "server/optimizer/rowwise_adagrad.h"
#include "server/optimizer/sgd.h"

namespace weir::server {
namespace {

constexpr double kRate = 0.1;
constexpr double kEpsilon = 1e-3;
constexpr double kInitial = 0.25;
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.99;

// The definitions in double precision, one row at a time.
class Reference {
 public:
  Reference(Optimizer::Type type, std::vector<double> weights)
      : type_(type),
        weights_(std::move(weights)),
        means_(weights_.size()),
        squares_(weights_.size(), type == Optimizer::TYPE_ADAM ? 0 : kInitial) {}

  void Step(const std::vector<float>& gradient, StepScales scales) {
    const double scale = scales.gradient;
    ++updates_;
    double mean_square = 0;
    for (float g : gradient) mean_square += g * scale * g * scale / gradient.size();
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i] -= scales.rate * Delta(i, gradient[i] * scale, mean_square);
  }
  const std::vector<double>& weights() const { return weights_; }

 private:
  double Delta(size_t i, double g, double mean_square) {
    switch (type_) {
      case Optimizer::TYPE_ADAGRAD:
        squares_[i] += g * g;
        return kRate * g / (std::sqrt(squares_[i]) + kEpsilon);
      case Optimizer::TYPE_ROWWISE_ADAGRAD:
        if (i == 0) squares_[0] += mean_square;
        return kRate * g / (std::sqrt(squares_[0]) + kEpsilon);
      case Optimizer::TYPE_ADAM: {
        means_[i] = kBeta1 * means_[i] + (1 - kBeta1) * g;
        squares_[i] = kBeta2 * squares_[i] + (1 - kBeta2) * g * g;
        const double mean = means_[i] / (1 - std::pow(kBeta1, updates_));
        const double square = squares_[i] / (1 - std::pow(kBeta2, updates_));
        return kRate * mean / (std::sqrt(square) + kEpsilon);
      }
      default:
        return kRate * g;
    }
  }

  const Optimizer::Type type_;
  std::vector<double> weights_;
  std::vector<double> means_;
  std::vector<double> squares_;
  int updates_ = 0;
};

std::unique_ptr<RowOptimizer> Make(Optimizer::Type type, uint32_t dim) {
  Optimizer settings;
  settings.set_type(type);
  settings.set_learning_rate(kRate);
  settings.set_epsilon(kEpsilon);
  settings.set_initial_accumulator(kInitial);
  settings.set_beta1(kBeta1);
  settings.set_beta2(kBeta2);
  return *MakeRowOptimizer(settings, dim);
}

struct Row {
  std::vector<float> weights;
  std::vector<float> slots;
};

Row NewRow(const RowOptimizer& optimizer, float weight) {
  Row row{std::vector<float>(optimizer.dim(), weight), std::vector<float>(optimizer.slot_floats(), -7.0f)};
  optimizer.InitializeSlots(absl::MakeSpan(row.slots));
  return row;
}

void Step(const RowOptimizer& optimizer, const std::vector<float>& gradient, StepScales scales, Row* row) {
  const RowUpdate update{row->weights.data(), row->slots.data(), gradient.data()};
  optimizer.Update(absl::MakeConstSpan(&update, 1), scales);
}

std::vector<float> Gradient(uint32_t dim, uint64_t stream) {
  std::vector<float> gradient(dim);
  for (uint32_t i = 0; i < dim; ++i) gradient[i] = static_cast<float>(2 * KeyedUniform(stream, i) - 1);
  return gradient;
}

class RowOptimizerTest : public testing::TestWithParam<std::tuple<Optimizer::Type, uint32_t>> {
 protected:
  Optimizer::Type type() const { return std::get<0>(GetParam()); }
  uint32_t dim() const { return std::get<1>(GetParam()); }
};

TEST_P(RowOptimizerTest, FollowsTheScalarReference) {
  const std::unique_ptr<RowOptimizer> optimizer = Make(type(), dim());
  Row row = NewRow(*optimizer, 0.5f);
  Reference reference(type(), std::vector<double>(dim(), 0.5));
  for (uint64_t step = 0; step < 200; ++step) {
    const std::vector<float> gradient = Gradient(dim(), step);
    const StepScales scales = {step % 3 == 0 ? 1.0f : 0.125f, step % 5 == 0 ? 1.0f : 0.5f};
    Step(*optimizer, gradient, scales, &row);
    reference.Step(gradient, scales);
    for (uint32_t i = 0; i < dim(); ++i) ASSERT_NEAR(row.weights[i], reference.weights()[i], 2e-5) << "step " << step << " weight " << i;
  }
}

TEST_P(RowOptimizerTest, ACopyOfWeightsAndSlotsGoesOnTheSame) {
  const std::unique_ptr<RowOptimizer> optimizer = Make(type(), dim());
  Row row = NewRow(*optimizer, -0.25f);
  for (uint64_t step = 0; step < 5; ++step) Step(*optimizer, Gradient(dim(), step), {1.0f}, &row);
  Row copy = row;
  Step(*Make(type(), dim()), Gradient(dim(), 99), {0.5f}, &copy);
  Step(*optimizer, Gradient(dim(), 99), {0.5f}, &row);
  EXPECT_EQ(copy.weights, row.weights);
  EXPECT_EQ(copy.slots, row.slots);
}

TEST_P(RowOptimizerTest, ABatchIsItsRowsOneByOne) {
  const std::unique_ptr<RowOptimizer> optimizer = Make(type(), dim());
  constexpr size_t kRows = 7;
  std::vector<Row> batched(kRows, NewRow(*optimizer, 1.0f)), single = batched;
  std::vector<std::vector<float>> gradients;
  std::vector<RowUpdate> updates;
  for (size_t i = 0; i < kRows; ++i) gradients.push_back(Gradient(dim(), 1000 + i));
  for (size_t i = 0; i < kRows; ++i) updates.push_back({batched[i].weights.data(), batched[i].slots.data(), gradients[i].data()});
  optimizer->Update(updates, {2.0f});
  for (size_t i = 0; i < kRows; ++i) {
    Step(*optimizer, gradients[i], {2.0f}, &single[i]);
    EXPECT_EQ(batched[i].weights, single[i].weights);
    EXPECT_EQ(batched[i].slots, single[i].slots);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RowOptimizerTest,
    testing::Combine(testing::Values(Optimizer::TYPE_SGD, Optimizer::TYPE_ADAGRAD, Optimizer::TYPE_ROWWISE_ADAGRAD, Optimizer::TYPE_ADAM),
                     testing::Values(1u, 3u, 4u, 16u, 17u, 64u)),
    [](const auto& info) { return Optimizer::Type_Name(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)); });

TEST(RowOptimizerClosedForm, FirstStepsByHand) {
  // Gradient (3, 4): mean square 12.5. With acc0 = 0 and epsilon = 0 a first Adagrad step is exactly the learning rate.
  const std::vector<float> gradient = {3.0f, 4.0f};
  AdagradOptions options;
  options.learning_rate = 0.5f;
  const Sgd sgd(2, 0.5f);
  const Adagrad adagrad(2, options);
  const RowwiseAdagrad rowwise(2, options);
  AdamOptions adam_options;
  adam_options.learning_rate = 0.5;
  adam_options.beta1 = 0.9;
  adam_options.beta2 = 0.99;
  const Adam adam(2, adam_options);

  Row row = NewRow(sgd, 1.0f);
  Step(sgd, gradient, {1.0f}, &row);
  EXPECT_EQ(row.weights, (std::vector<float>{-0.5f, -1.0f}));
  row = NewRow(adagrad, 1.0f);
  Step(adagrad, gradient, {1.0f}, &row);
  EXPECT_EQ(row.weights, (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(row.slots, (std::vector<float>{9.0f, 16.0f}));
  row = NewRow(rowwise, 1.0f);
  Step(rowwise, gradient, {1.0f}, &row);
  EXPECT_EQ(row.slots, (std::vector<float>{12.5f}));
  EXPECT_NEAR(row.weights[0], 1 - 0.5 * 3 / std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(row.weights[1], 1 - 0.5 * 4 / std::sqrt(12.5), 1e-6);
  // Adam's first corrected step is the learning rate in the direction of the sign.
  row = NewRow(adam, 1.0f);
  Step(adam, gradient, {1.0f}, &row);
  EXPECT_EQ(row.slots[0], 1.0f);
  EXPECT_NEAR(row.weights[0], 0.5, 1e-6);
  EXPECT_NEAR(row.weights[1], 0.5, 1e-6);
}

TEST(RowOptimizerRegistry, RefusesNoType) {
  EXPECT_EQ(MakeRowOptimizer(Optimizer(), 4).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::server
