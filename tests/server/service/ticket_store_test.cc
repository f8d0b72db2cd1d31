#include "server/service/ticket_store.h"

#include <gtest/gtest.h>

#include <memory>

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

TEST(TicketStoreTest, KeepsReplacesAndDrops) {
  TicketStore store(2, 10);
  const auto first = std::make_shared<Ticket>(), second = std::make_shared<Ticket>();
  EXPECT_EQ(store.Find(Id(0)), nullptr);
  ASSERT_TRUE(store.Put(Id(0), first).ok());
  EXPECT_EQ(store.Find(Id(0)), first);
  EXPECT_EQ(store.Find(Id(0, 1)), nullptr);
  EXPECT_EQ(store.Find(Id(0, 0, 2)), nullptr);
  EXPECT_EQ(store.Find(Id(0, 0, 1, 1)), nullptr);
  ASSERT_TRUE(store.Put(Id(0), second).ok());
  EXPECT_EQ(store.Find(Id(0)), second);
  EXPECT_EQ(first.use_count(), 1);
  store.Drop(Id(0, 0, 2));
  EXPECT_EQ(store.Find(Id(0)), second);
  store.Drop(Id(0));
  store.Drop(Id(0));
  EXPECT_EQ(store.Find(Id(0)), nullptr);
}

TEST(TicketStoreTest, ANewIncarnationDropsTheOldTickets) {
  TicketStore store(1, 10);
  ASSERT_TRUE(store.Put(Id(0), std::make_shared<Ticket>()).ok());
  ASSERT_TRUE(store.Put(Id(5, 0, 2), std::make_shared<Ticket>()).ok());
  EXPECT_EQ(store.Find(Id(0)), nullptr);
  EXPECT_EQ(store.Find(Id(0, 0, 2)), nullptr) << "nor does the new one inherit them";
  EXPECT_NE(store.Find(Id(5, 0, 2)), nullptr);
}

TEST(TicketStoreTest, StepsLongPastAreDropped) {
  TicketStore store(1, 10);
  ASSERT_TRUE(store.Put(Id(0), std::make_shared<Ticket>()).ok());
  ASSERT_TRUE(store.Put(Id(10), std::make_shared<Ticket>()).ok());
  EXPECT_NE(store.Find(Id(0)), nullptr);
  ASSERT_TRUE(store.Put(Id(11), std::make_shared<Ticket>()).ok());
  EXPECT_EQ(store.Find(Id(0)), nullptr);
  EXPECT_NE(store.Find(Id(10)), nullptr);
}

TEST(TicketStoreTest, IsBoundedForEachWorker) {
  TicketStore store(2, 1000);
  const auto ticket = std::make_shared<Ticket>();
  for (uint32_t i = 0; i < kTicketsPerWorkerMax; ++i) ASSERT_TRUE(store.Put(Id(i % 64, i / 64), ticket).ok());
  EXPECT_EQ(store.Put(Id(64), ticket).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store.Put(Id(0), ticket).ok()) << "it replaces one";
  EXPECT_TRUE(store.Put(Id(64, 0, 1, 1), ticket).ok()) << "of another worker";
  store.Drop(Id(0));
  EXPECT_TRUE(store.Put(Id(64), ticket).ok());
}

}  // namespace
}  // namespace weir::server
