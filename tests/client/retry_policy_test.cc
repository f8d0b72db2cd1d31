#include "client/retry_policy.h"

#include "gtest/gtest.h"

namespace weir::client {
namespace {

TEST(RetryDelayTest, DoublesUpToItsLimit) {
  EXPECT_EQ(RetryDelay(1, 0), kFirstRetryDelay / 2);
  EXPECT_EQ(RetryDelay(2, 0), kFirstRetryDelay);
  EXPECT_EQ(RetryDelay(3, 0), kFirstRetryDelay * 2);
  EXPECT_EQ(RetryDelay(30, 0), kRetryDelayMax / 2);
  EXPECT_EQ(RetryDelay(4'000'000'000u, 0), kRetryDelayMax / 2);
}

TEST(RetryDelayTest, JitterIsAtMostHalf) {
  for (uint32_t tries = 1; tries < kCallTriesMax; ++tries) {
    EXPECT_GE(RetryDelay(tries, 0.999), RetryDelay(tries, 0));
    EXPECT_LE(RetryDelay(tries, 0.999), RetryDelay(tries, 0) * 2);
  }
}

}  // namespace
}  // namespace weir::client
