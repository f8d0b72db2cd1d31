#include "server/table/lookup_gate.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::server {
namespace {

Waiter At(const int* owner, int64_t step, absl::Time deadline) {
  Waiter waiter;
  waiter.owner = owner;
  waiter.step = step;
  waiter.deadline = deadline;
  return waiter;
}

class LookupGateTest : public testing::Test {
 protected:
  const absl::Time start_ = absl::UnixEpoch();
  const int owners_[4] = {};
  LookupGate gate_{3};
};

TEST_F(LookupGateTest, ReachLetsThroughInStepOrder) {
  ASSERT_TRUE(gate_.Park(At(&owners_[0], 7, start_)).ok());
  ASSERT_TRUE(gate_.Park(At(&owners_[1], 5, start_)).ok());
  ASSERT_TRUE(gate_.Park(At(&owners_[2], 8, start_)).ok());
  EXPECT_TRUE(gate_.Reach(4).empty());
  const std::vector<Waiter> reached = gate_.Reach(7);
  ASSERT_EQ(reached.size(), 2u);
  EXPECT_EQ(reached[0].owner, &owners_[1]);
  EXPECT_EQ(reached[1].owner, &owners_[0]);
  EXPECT_TRUE(gate_.Reach(7).empty());
}

TEST_F(LookupGateTest, DeadlinesEndWaits) {
  EXPECT_EQ(gate_.NextDeadline(), absl::InfiniteFuture());
  ASSERT_TRUE(gate_.Park(At(&owners_[0], 1, start_ + absl::Seconds(2))).ok());
  ASSERT_TRUE(gate_.Park(At(&owners_[1], 1, start_ + absl::Seconds(1))).ok());
  EXPECT_EQ(gate_.NextDeadline(), start_ + absl::Seconds(1));
  EXPECT_TRUE(gate_.Expire(start_).empty());
  EXPECT_EQ(gate_.Expire(start_ + absl::Seconds(1)).size(), 1u);
  EXPECT_EQ(gate_.NextDeadline(), start_ + absl::Seconds(2));
}

TEST_F(LookupGateTest, OneOwnerCanBeTaken) {
  ASSERT_TRUE(gate_.Park(At(&owners_[0], 1, start_)).ok());
  EXPECT_FALSE(gate_.Take(&owners_[1]).has_value());
  EXPECT_TRUE(gate_.Take(&owners_[0]).has_value());
  EXPECT_FALSE(gate_.Take(&owners_[0]).has_value());
}

TEST_F(LookupGateTest, IsBoundedAndLeavesTheRefusedAlone) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(gate_.Park(At(&owners_[i], 1, start_)).ok());
  Waiter refused = At(&owners_[3], 1, start_);
  refused.resume = [](absl::Status) {};
  EXPECT_EQ(gate_.Park(std::move(refused)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(refused.resume != nullptr);
  EXPECT_EQ(gate_.TakeAll().size(), 3u);
}

}  // namespace
}  // namespace weir::server
