#include "server/coordinator/barriers.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

class BarriersTest : public ::testing::Test {
 protected:
  void Arrive(const std::string& name, uint32_t rank) {
    BarrierRequest request;
    request.set_name(name);
    request.set_worker_rank(rank);
    Answers answers;
    barriers_.Arrive(request, {deadline_, [this](const absl::Status& status) { answered_.push_back(status); }}, &answers);
    answers.Send();
  }

  const absl::Time deadline_ = absl::FromUnixSeconds(100);
  Barriers barriers_{3};
  std::vector<absl::Status> answered_;
};

TEST_F(BarriersTest, OpensWhenTheLastArrives) {
  Arrive("x", 2);
  Arrive("x", 0);
  EXPECT_TRUE(answered_.empty());
  Arrive("x", 1);
  ASSERT_EQ(answered_.size(), 3u);
  for (const absl::Status& status : answered_) EXPECT_TRUE(status.ok());
}

TEST_F(BarriersTest, ARetryDoesNotCountTwice) {
  Arrive("x", 0);
  Arrive("x", 0);
  Arrive("x", 1);
  EXPECT_TRUE(answered_.empty());
  Arrive("x", 2);
  EXPECT_EQ(answered_.size(), 4u);
  Arrive("x", 1);  // its answer was lost
  EXPECT_EQ(answered_.size(), 5u);
}

TEST_F(BarriersTest, NamesAreApart) {
  Arrive("x", 0);
  Arrive("y", 1);
  Arrive("x", 2);
  EXPECT_TRUE(answered_.empty());
}

TEST_F(BarriersTest, DeadlineNamesTheMissing) {
  Arrive("trained", 1);
  Answers answers;
  barriers_.Expire(deadline_ - absl::Nanoseconds(1), &answers);
  answers.Send();
  EXPECT_TRUE(answered_.empty());
  barriers_.Expire(deadline_, &answers);
  answers.Send();
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(answered_[0]));
  EXPECT_THAT(std::string(answered_[0].message()), HasSubstr("'trained' waits for worker 0, 2"));
}

TEST_F(BarriersTest, FailureReleasesAll) {
  Arrive("x", 0);
  Arrive("y", 1);
  Answers answers;
  barriers_.FailAll(absl::AbortedError("over"), &answers);
  answers.Send();
  EXPECT_EQ(answered_, std::vector<absl::Status>(2, absl::AbortedError("over")));
}

TEST_F(BarriersTest, LimitsHold) {
  Arrive("", 0);
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(answered_[0]));
  Arrive(std::string(kBarrierNameBytesMax + 1, 'x'), 0);
  ASSERT_EQ(answered_.size(), 2u);
  EXPECT_TRUE(absl::IsInvalidArgument(answered_[1]));
  answered_.clear();
  for (size_t i = 0; i < kWaitingCallsMax; ++i) Arrive("x", 0);
  EXPECT_TRUE(answered_.empty());
  Arrive("x", 0);
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(answered_[0]));
}

}  // namespace
}  // namespace weir::server
