#include "proto/step_scales.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

Training Scheduled(uint64_t warmup, uint64_t decay_start, uint64_t decay, double final_share) {
  Training training;
  training.set_gradient_scale(Training::GRADIENT_SCALE_SUM);
  training.mutable_schedule()->set_warmup_steps(warmup);
  training.mutable_schedule()->set_decay_start(decay_start);
  training.mutable_schedule()->set_decay_steps(decay);
  training.mutable_schedule()->set_final_share(final_share);
  return training;
}

float Rate(const Training& training, int64_t step) { return ScalesOf(training, step, 1).rate; }

TEST(StepScalesTest, MeanDividesBySamples) {
  Training training;
  training.set_gradient_scale(Training::GRADIENT_SCALE_MEAN);
  EXPECT_EQ(ScalesOf(training, 7, 8).gradient, 0.125f);
  training.set_gradient_scale(Training::GRADIENT_SCALE_SUM);
  EXPECT_EQ(ScalesOf(training, 7, 8).gradient, 1.0f);
}

TEST(StepScalesTest, WithoutScheduleTheRateIsExactlyOne) {
  for (const int64_t step : {0, 1, 1000000000}) EXPECT_EQ(Rate(Scheduled(0, 0, 0, 0), step), 1.0f);
}

TEST(StepScalesTest, RisesStaysFallsStays) {
  const Training training = Scheduled(4, 10, 5, 0.5);
  EXPECT_FLOAT_EQ(Rate(training, 0), 0.25f);
  EXPECT_FLOAT_EQ(Rate(training, 3), 1.0f);
  EXPECT_FLOAT_EQ(Rate(training, 10), 1.0f);
  EXPECT_FLOAT_EQ(Rate(training, 11), 0.9f);
  EXPECT_FLOAT_EQ(Rate(training, 15), 0.5f);
  EXPECT_FLOAT_EQ(Rate(training, 1000), 0.5f);
}

TEST(StepScalesTest, MayFallWhileItRises) {
  const Training training = Scheduled(2, 1, 2, 0.5);
  EXPECT_FLOAT_EQ(Rate(training, 0), 0.5f);
  EXPECT_FLOAT_EQ(Rate(training, 1), 1.0f);
  EXPECT_FLOAT_EQ(Rate(training, 2), 0.75f);
}

}  // namespace
}  // namespace weir
