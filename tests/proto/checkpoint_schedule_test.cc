#include "proto/checkpoint_schedule.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(CheckpointScheduleTest, ANumberIsSteps) {
  const auto schedule = ParseCheckpointSchedule("500");
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(schedule->steps, 500);
  EXPECT_EQ(schedule->time, absl::ZeroDuration());
}

TEST(CheckpointScheduleTest, WithAUnitItIsTime) {
  EXPECT_EQ(ParseCheckpointSchedule("90s")->time, absl::Seconds(90));
  EXPECT_EQ(ParseCheckpointSchedule("1h30m")->time, absl::Minutes(90));
  EXPECT_EQ(ParseCheckpointSchedule("5m")->steps, 0);
}

TEST(CheckpointScheduleTest, WhatIsNeitherSaysWhatCanBeWritten) {
  for (const char* every : {"", "0", "-5", "0s", "10ms", "inf", "often", "5 steps", "1.5"}) {
    const auto status = ParseCheckpointSchedule(every).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << every;
    EXPECT_NE(status.message().find("500"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir
