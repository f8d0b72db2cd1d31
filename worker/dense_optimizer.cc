#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker/dense_model.h"
#include "worker/dense_update.h"

namespace weir::worker {
namespace {

class Sgd final : public DenseOptimizer {
 public:
  explicit Sgd(float learning_rate) : learning_rate_(learning_rate) {}

  void Update(absl::Span<float> parameters, absl::Span<const float> gradients, StepScales scales) override {
    UpdateSgd(learning_rate_ * scales.rate * scales.gradient, gradients, parameters);
  }

  std::unique_ptr<DenseOptimizer> Clone() const override { return std::make_unique<Sgd>(*this); }

 private:
  const float learning_rate_;
};

class Adagrad final : public DenseOptimizer {
 public:
  Adagrad(AdagradRates rates, float initial_accumulator, size_t size) : rates_(rates), accumulator_(size, initial_accumulator) {}

  void Update(absl::Span<float> parameters, absl::Span<const float> gradients, StepScales scales) override {
    AdagradRates rates = rates_;
    rates.scale = scales.gradient;
    rates.learning_rate *= scales.rate;
    UpdateAdagrad(rates, gradients, absl::MakeSpan(accumulator_), parameters);
  }

  void VisitState(StateVisitor* state) override { state->Values("accumulator", absl::MakeSpan(accumulator_)); }
  std::unique_ptr<DenseOptimizer> Clone() const override { return std::make_unique<Adagrad>(*this); }

 private:
  const AdagradRates rates_;
  std::vector<float> accumulator_;
};

class Adam final : public DenseOptimizer {
 public:
  Adam(const Optimizer& config, size_t size) : config_(config), mean_(size), square_(size) {}

  void Update(absl::Span<float> parameters, absl::Span<const float> gradients, StepScales scales) override {
    ++step_;
    const double mean_correction = 1.0 - std::pow(config_.beta1(), step_);
    const double square_correction = 1.0 - std::pow(config_.beta2(), step_);
    AdamRates rates;
    rates.scale = scales.gradient;
    rates.beta1 = static_cast<float>(config_.beta1());
    rates.beta2 = static_cast<float>(config_.beta2());
    rates.step_size = static_cast<float>(config_.learning_rate() * scales.rate / mean_correction);
    rates.root_scale = static_cast<float>(1.0 / std::sqrt(square_correction));
    rates.epsilon = static_cast<float>(config_.epsilon());
    UpdateAdam(rates, gradients, {absl::MakeSpan(mean_), absl::MakeSpan(square_)}, parameters);
  }

  void VisitState(StateVisitor* state) override {
    state->Values("mean", absl::MakeSpan(mean_));
    state->Values("square", absl::MakeSpan(square_));
    state->Number("step", &step_);
  }
  std::unique_ptr<DenseOptimizer> Clone() const override { return std::make_unique<Adam>(*this); }

 private:
  const Optimizer config_;
  std::vector<float> mean_;
  std::vector<float> square_;
  int64_t step_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DenseOptimizer>> CreateDenseOptimizer(const Optimizer& config, size_t size) {
  const auto learning_rate = static_cast<float>(config.learning_rate());
  switch (config.type()) {
    case Optimizer::TYPE_SGD:
      return std::make_unique<Sgd>(learning_rate);
    case Optimizer::TYPE_ADAGRAD: {
      AdagradRates rates;
      rates.learning_rate = learning_rate;
      rates.epsilon = static_cast<float>(config.epsilon());
      return std::make_unique<Adagrad>(rates, static_cast<float>(config.initial_accumulator()), size);
    }
    case Optimizer::TYPE_ADAM:
      return std::make_unique<Adam>(config, size);
    case Optimizer::TYPE_ROWWISE_ADAGRAD:
      return absl::InvalidArgumentError(
          "model.optimizer.type: rowwise_adagrad keeps one accumulator for each embedding row, and dense layers have no rows; use adagrad");
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("model.optimizer.type: ", static_cast<int>(config.type()),
                                                 " is no optimizer of this version; use sgd, adagrad or adam"));
}

}  // namespace weir::worker
