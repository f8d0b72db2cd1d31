#include "server/table/push_ledger.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace weir::server {
namespace {

PartId Id(int64_t step, uint32_t part = 0, uint64_t incarnation = 1, uint32_t worker_rank = 0) {
  PartId id;
  id.worker_rank = worker_rank;
  id.incarnation = incarnation;
  id.step = step;
  id.part = part;
  return id;
}

TEST(PushLedgerTest, EachPartOnce) {
  PushLedger ledger(2);
  EXPECT_FALSE(ledger.Seen(Id(0, 0)));
  EXPECT_EQ(*ledger.Record(Id(0, 0), 2), PushReply::OUTCOME_ACCEPTED);
  EXPECT_TRUE(ledger.Seen(Id(0, 0)));
  EXPECT_FALSE(ledger.Seen(Id(0, 1)));
  EXPECT_EQ(*ledger.Record(Id(0, 0), 2), PushReply::OUTCOME_DUPLICATE);
  EXPECT_EQ(*ledger.Record(Id(0, 1), 2), PushReply::OUTCOME_ACCEPTED);
  EXPECT_EQ(*ledger.Record(Id(0, 0, 2), 2), PushReply::OUTCOME_ACCEPTED) << "another incarnation";
  EXPECT_EQ(*ledger.Record(Id(0, 0, 1, 1), 2), PushReply::OUTCOME_ACCEPTED) << "another worker";
}

TEST(PushLedgerTest, OldCompleteStepsStayKnown) {
  PushLedger ledger(1);
  for (int64_t step = 0; step < 1000; ++step) ASSERT_EQ(*ledger.Record(Id(step), 1), PushReply::OUTCOME_ACCEPTED);
  for (int64_t step = 0; step < 1000; ++step) ASSERT_EQ(*ledger.Record(Id(step), 1), PushReply::OUTCOME_DUPLICATE);
}

TEST(PushLedgerTest, WhatCannotBeToldIsRefused) {
  PushLedger ledger(1);
  ASSERT_TRUE(ledger.Record(Id(0, 0), 2).ok());  // part 1 never comes
  for (int64_t step = 1; step <= kStepsAheadMax; ++step) ASSERT_TRUE(ledger.Record(Id(step), 1).ok());
  EXPECT_EQ(ledger.Record(Id(0, 1), 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ledger.Record(Id(0, 0), 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*ledger.Record(Id(1), 1), PushReply::OUTCOME_DUPLICATE);
}

TEST(PushLedgerTest, RefusesAnotherNumberOfParts) {
  PushLedger ledger(1);
  ASSERT_TRUE(ledger.Record(Id(3, 0), 2).ok());
  EXPECT_EQ(ledger.Record(Id(3, 1), 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*ledger.Record(Id(3, 1), 2), PushReply::OUTCOME_ACCEPTED);
}

TEST(PushLedgerTest, IncarnationsAreBounded) {
  PushLedger ledger(1);
  for (uint64_t incarnation = 0; incarnation <= PushLedger::kIncarnationsMax; ++incarnation) {
    ASSERT_TRUE(ledger.Record(Id(0, 0, incarnation), 1).ok());
  }
  EXPECT_FALSE(ledger.Seen(Id(0, 0, 0))) << "the oldest is forgotten";
  EXPECT_TRUE(ledger.Seen(Id(0, 0, 1)));
}

}  // namespace
}  // namespace weir::server
