#include "worker/dense_update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/dense_update.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "worker/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::worker {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void Sgd(float rate, absl::Span<const float> gradients, absl::Span<float> parameters) {
  const float* HWY_RESTRICT gradient = gradients.data();
  float* HWY_RESTRICT parameter = parameters.data();
  ForEachVector(parameters.size(), [&](auto d, size_t i) HWY_ATTR {
    hn::StoreU(hn::NegMulAdd(hn::Set(d, rate), hn::LoadU(d, gradient + i), hn::LoadU(d, parameter + i)), d, parameter + i);
  });
}

void Adagrad(const AdagradRates& rates, absl::Span<const float> gradients, absl::Span<float> accumulators, absl::Span<float> parameters) {
  const float* HWY_RESTRICT gradient = gradients.data();
  float* HWY_RESTRICT accumulator = accumulators.data();
  float* HWY_RESTRICT parameter = parameters.data();
  ForEachVector(parameters.size(), [&](auto d, size_t i) HWY_ATTR {
    const auto g = hn::Mul(hn::LoadU(d, gradient + i), hn::Set(d, rates.scale));
    const auto sum = hn::MulAdd(g, g, hn::LoadU(d, accumulator + i));
    hn::StoreU(sum, d, accumulator + i);
    const auto change = hn::Div(hn::Mul(hn::Set(d, rates.learning_rate), g), hn::Add(hn::Sqrt(sum), hn::Set(d, rates.epsilon)));
    hn::StoreU(hn::Sub(hn::LoadU(d, parameter + i), change), d, parameter + i);
  });
}

void Adam(const AdamRates& rates, absl::Span<const float> gradients, AdamMoments moments, absl::Span<float> parameters) {
  const float* HWY_RESTRICT gradient = gradients.data();
  float* HWY_RESTRICT means = moments.mean.data();
  float* HWY_RESTRICT squares = moments.square.data();
  float* HWY_RESTRICT parameter = parameters.data();
  ForEachVector(parameters.size(), [&](auto d, size_t i) HWY_ATTR {
    const auto g = hn::Mul(hn::LoadU(d, gradient + i), hn::Set(d, rates.scale));
    const auto mean = hn::MulAdd(hn::Set(d, rates.beta1), hn::LoadU(d, means + i), hn::Mul(hn::Set(d, 1.0f - rates.beta1), g));
    const auto square =
        hn::MulAdd(hn::Set(d, rates.beta2), hn::LoadU(d, squares + i), hn::Mul(hn::Mul(hn::Set(d, 1.0f - rates.beta2), g), g));
    hn::StoreU(mean, d, means + i);
    hn::StoreU(square, d, squares + i);
    const auto root = hn::MulAdd(hn::Sqrt(square), hn::Set(d, rates.root_scale), hn::Set(d, rates.epsilon));
    const auto change = hn::Div(hn::Mul(hn::Set(d, rates.step_size), mean), root);
    hn::StoreU(hn::Sub(hn::LoadU(d, parameter + i), change), d, parameter + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::worker
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::worker {
namespace {
HWY_EXPORT(Sgd);
HWY_EXPORT(Adagrad);
HWY_EXPORT(Adam);
}  // namespace

void UpdateSgd(float rate, absl::Span<const float> gradients, absl::Span<float> parameters) {
  HWY_DYNAMIC_DISPATCH(Sgd)(rate, gradients, parameters);
}

void UpdateAdagrad(const AdagradRates& rates, absl::Span<const float> gradients, absl::Span<float> accumulator,
                   absl::Span<float> parameters) {
  HWY_DYNAMIC_DISPATCH(Adagrad)(rates, gradients, accumulator, parameters);
}

void UpdateAdam(const AdamRates& rates, absl::Span<const float> gradients, AdamMoments moments, absl::Span<float> parameters) {
  HWY_DYNAMIC_DISPATCH(Adam)(rates, gradients, moments, parameters);
}

}  // namespace weir::worker
#endif  // HWY_ONCE
