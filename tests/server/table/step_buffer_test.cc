#include "server/table/step_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/limits.h"

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PushPart Part(uint32_t worker_rank, int64_t step, uint32_t part = 0, uint32_t parts = 1, uint64_t incarnation = 1) {
  PushPart push;
  push.id.worker_rank = worker_rank;
  push.id.incarnation = incarnation;
  push.id.step = step;
  push.id.part = part;
  push.parts = parts;
  push.samples = 10 + worker_rank;
  return push;
}

TEST(StepBufferTest, AStepIsCompleteWithEveryPartOfEveryWorker) {
  StepBuffer buffer(2);
  EXPECT_THAT(buffer.MissingRanks(), ElementsAre(0, 1));
  ASSERT_TRUE(buffer.Add(Part(1, 0, 1, 2)).ok());
  ASSERT_TRUE(buffer.Add(Part(0, 0)).ok());
  EXPECT_THAT(buffer.MissingRanks(), ElementsAre(1));
  EXPECT_FALSE(buffer.NextIsComplete());
  ASSERT_TRUE(buffer.Add(Part(1, 0, 0, 2)).ok());
  ASSERT_TRUE(buffer.NextIsComplete());
  EXPECT_THAT(buffer.MissingRanks(), IsEmpty());
  const StepPushes step = buffer.TakeNext();
  EXPECT_EQ(step.step, 0);
  EXPECT_EQ(step.samples, 21u) << "each worker's samples count once";
  ASSERT_EQ(step.parts.size(), 3u);
  EXPECT_EQ(ToString(step.parts[0].id), "part 0 of step 0 of worker 0");
  EXPECT_EQ(ToString(step.parts[1].id), "part 0 of step 0 of worker 1");
  EXPECT_EQ(ToString(step.parts[2].id), "part 1 of step 0 of worker 1");
  EXPECT_EQ(buffer.next_step(), 1);
}

TEST(StepBufferTest, LaterStepsWait) {
  StepBuffer buffer(1);
  ASSERT_TRUE(buffer.Add(Part(0, 1)).ok());
  ASSERT_TRUE(buffer.Add(Part(0, 2)).ok());
  EXPECT_EQ(buffer.CompleteThrough(), -1);
  ASSERT_TRUE(buffer.Add(Part(0, 0)).ok());
  EXPECT_EQ(buffer.CompleteThrough(), 2);
  for (int64_t step = 0; step < 3; ++step) EXPECT_EQ(buffer.TakeNext().step, step);
  EXPECT_FALSE(buffer.NextIsComplete());
}

TEST(StepBufferTest, DuplicatesAreKnownBufferedAndTaken) {
  StepBuffer buffer(1);
  ASSERT_EQ(*buffer.Add(Part(0, 0)), PushReply::OUTCOME_ACCEPTED);
  EXPECT_EQ(*buffer.Add(Part(0, 0)), PushReply::OUTCOME_DUPLICATE);
  buffer.TakeNext();
  EXPECT_EQ(*buffer.Add(Part(0, 0)), PushReply::OUTCOME_DUPLICATE);
  EXPECT_FALSE(buffer.NextIsComplete());
}

TEST(StepBufferTest, RefusesStepsTooFarAhead) {
  StepBuffer buffer(1);
  EXPECT_TRUE(buffer.Add(Part(0, kStepsAheadMax - 1)).ok());
  EXPECT_EQ(buffer.Add(Part(0, kStepsAheadMax)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(buffer.Add(Part(0, std::numeric_limits<int64_t>::max())).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(StepBufferTest, RefusesPartsThatContradictEachOther) {
  StepBuffer buffer(1);
  ASSERT_TRUE(buffer.Add(Part(0, 0, 0, 2)).ok());
  EXPECT_EQ(buffer.Add(Part(0, 0, 1, 3)).status().code(), absl::StatusCode::kInvalidArgument);
  PushPart other_samples = Part(0, 0, 1, 2);
  other_samples.samples = 999;
  EXPECT_EQ(buffer.Add(other_samples).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(buffer.Add(Part(0, 0, 1, 2)).ok());
}

TEST(StepBufferTest, ANewIncarnationTakesOver) {
  StepBuffer buffer(2);
  ASSERT_TRUE(buffer.Add(Part(0, 0)).ok());
  ASSERT_TRUE(buffer.Add(Part(1, 0)).ok());
  buffer.TakeNext();
  ASSERT_TRUE(buffer.Add(Part(1, 1)).ok());
  ASSERT_TRUE(buffer.Add(Part(0, 1)).ok());
  ASSERT_TRUE(buffer.NextIsComplete());
  ASSERT_TRUE(buffer.Add(Part(0, 1, 0, 2, 8)).ok()) << "drops the whole step 1 of the old incarnation";
  EXPECT_THAT(buffer.MissingRanks(), ElementsAre(0));
  EXPECT_EQ(buffer.Add(Part(0, 1)).status().code(), absl::StatusCode::kFailedPrecondition) << "of the old incarnation";
  EXPECT_EQ(buffer.Add(Part(0, 0, 0, 1, 8)).status().code(), absl::StatusCode::kFailedPrecondition) << "a step taken before its time";
  EXPECT_FALSE(buffer.Seen(Part(0, 0, 0, 1, 8).id));
  ASSERT_TRUE(buffer.Add(Part(0, 1, 1, 2, 8)).ok());
  EXPECT_TRUE(buffer.NextIsComplete());
}

}  // namespace
}  // namespace weir::server
