#include "proto/step_scales.h"

#include <algorithm>

namespace weir {
namespace {

double RateShare(const Training::Schedule& schedule, int64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule.warmup_steps());
  const double risen = at < warmup ? (at + 1) / warmup : 1.0;
  const auto decay = static_cast<double>(schedule.decay_steps());
  const double past = decay == 0 ? 0.0 : std::clamp((at - static_cast<double>(schedule.decay_start())) / decay, 0.0, 1.0);
  return risen * (1.0 - past * (1.0 - schedule.final_share()));
}

}  // namespace

StepScales ScalesOf(const Training& training, int64_t step, uint64_t samples) {
  StepScales scales;
  if (training.gradient_scale() == Training::GRADIENT_SCALE_MEAN) scales.gradient = 1.0f / static_cast<float>(samples);
  scales.rate = static_cast<float>(RateShare(training.schedule(), step));
  return scales;
}

}  // namespace weir
