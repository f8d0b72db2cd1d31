#include "worker/layers/bias_relu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/layers/bias_relu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "worker/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::worker {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void AddBiasRows(const float* HWY_RESTRICT bias, Matrix values) {
  for (size_t row = 0; row < values.rows; ++row) {
    float* HWY_RESTRICT out = values.Row(row);
    ForEachVector(values.columns,
                  [&](auto d, size_t i) HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::LoadU(d, bias + i)), d, out + i); });
  }
}

void AddBiasReluRows(const float* HWY_RESTRICT bias, Matrix values) {
  for (size_t row = 0; row < values.rows; ++row) {
    float* HWY_RESTRICT out = values.Row(row);
    ForEachVector(values.columns, [&](auto d, size_t i) HWY_ATTR {
      const auto sum = hn::Add(hn::LoadU(d, out + i), hn::LoadU(d, bias + i));
      hn::StoreU(hn::IfThenZeroElse(hn::Lt(sum, hn::Zero(d)), sum), d, out + i);
    });
  }
}

void SumRows(ConstMatrix gradient, float* HWY_RESTRICT sums) {
  for (size_t row = 0; row < gradient.rows; ++row) {
    const float* HWY_RESTRICT in = gradient.Row(row);
    ForEachVector(gradient.columns,
                  [&](auto d, size_t i) HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::LoadU(d, in + i)), d, sums + i); });
  }
}

void MaskAndSumRows(ConstMatrix output, Matrix gradient, float* HWY_RESTRICT sums) {
  for (size_t row = 0; row < gradient.rows; ++row) {
    const float* HWY_RESTRICT out = output.Row(row);
    float* HWY_RESTRICT in = gradient.Row(row);
    ForEachVector(gradient.columns, [&](auto d, size_t i) HWY_ATTR {
      const auto masked = hn::IfThenElseZero(hn::Gt(hn::LoadU(d, out + i), hn::Zero(d)), hn::LoadU(d, in + i));
      hn::StoreU(masked, d, in + i);
      hn::StoreU(hn::Add(hn::LoadU(d, sums + i), masked), d, sums + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::worker
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::worker {
namespace {
HWY_EXPORT(AddBiasRows);
HWY_EXPORT(AddBiasReluRows);
HWY_EXPORT(SumRows);
HWY_EXPORT(MaskAndSumRows);
}  // namespace

void AddBias(Activation activation, absl::Span<const float> bias, Matrix values) {
  if (activation == Activation::kRelu) {
    HWY_DYNAMIC_DISPATCH(AddBiasReluRows)(bias.data(), values);
  } else {
    HWY_DYNAMIC_DISPATCH(AddBiasRows)(bias.data(), values);
  }
}

void BiasBackward(Activation activation, ConstMatrix output, Matrix gradient, absl::Span<float> bias_gradient) {
  if (activation == Activation::kRelu) {
    HWY_DYNAMIC_DISPATCH(MaskAndSumRows)(output, gradient, bias_gradient.data());
  } else {
    HWY_DYNAMIC_DISPATCH(SumRows)(gradient, bias_gradient.data());
  }
}

}  // namespace weir::worker
#endif  // HWY_ONCE
