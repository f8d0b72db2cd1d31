#include "server/service/push_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "server/service/data_plane.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<DataPlane> Make(const SmallJob& job) {
  EmbeddingServerOptions options;
  options.job = job.Make();
  options.job_hash = kJobHash;
  return *DataPlane::Create(options);
}

// Rows after the pushes, less the initial values: SGD at rate 1 leaves minus the gradients.
std::vector<float> Moved(const DataPlane& plane, uint32_t table, const std::vector<Key>& keys) {
  std::vector<float> moved = RowsOf(plane, table, keys);
  const std::vector<float> initial = RowsOf(*Make(SmallJob{}), table, keys);
  for (size_t i = 0; i < moved.size(); ++i) moved[i] = std::round((moved[i] - initial[i]) * 1000) / 1000;
  return moved;
}

class PushHandlerTest : public testing::Test {
 protected:
  const std::unique_ptr<DataPlane> plane_ = Make(SmallJob{});
  PushReply reply_;
  LookupReply lookup_reply_;
};

TEST_F(PushHandlerTest, WithKeysOfItsOwn) {
  PushRequest push = PushOf(0);
  *push.add_tables() = GradientsOf(KeysOf(0, {1, 2}), {1, 2, 3, 4});
  *push.add_tables() = GradientsOf(KeysOf(5, {7, 3, 7}), {1, 0, 5, 5, 2, 0});
  ASSERT_TRUE(Push(*plane_, push, &reply_).ok());
  EXPECT_EQ(reply_.outcome(), PushReply::OUTCOME_ACCEPTED);
  EXPECT_EQ(Moved(*plane_, 0, {1, 2}), (std::vector<float>{-1, -2, -3, -4}));
  EXPECT_EQ(Moved(*plane_, 5, {7, 3}), (std::vector<float>{-3, 0, -5, -5})) << "repeated keys are summed";
}

TEST_F(PushHandlerTest, WithTheKeysOfItsTicket) {
  ASSERT_TRUE(Lookup(*plane_, LookupOf(0, {KeysOf(4, {1, 2}), KeysOf(0, {9, 8, 9})}), &lookup_reply_).ok());
  PushRequest push = PushOf(0);
  push.set_ticket(true);
  *push.add_tables() = GradientsOf(0, {1, 1, 2, 2, 3, 3});
  ASSERT_TRUE(Push(*plane_, push, &reply_).ok());
  EXPECT_EQ(Moved(*plane_, 0, {8, 9}), (std::vector<float>{-2, -2, -4, -4}));
  EXPECT_EQ(plane_->tables().at(4).Size().rows, 0u) << "tables of the lookup may be left out";
}

TEST_F(PushHandlerTest, ADuplicateChangesNothingAndNeedsNoTicket) {
  ASSERT_TRUE(Lookup(*plane_, LookupOf(0, {KeysOf(0, {1})}), &lookup_reply_).ok());
  PushRequest push = PushOf(0);
  push.set_ticket(true);
  *push.add_tables() = GradientsOf(0, {1, 1});
  ASSERT_TRUE(Push(*plane_, push, &reply_).ok());
  PushReply again;
  ASSERT_TRUE(Push(*plane_, push, &again).ok());
  EXPECT_EQ(again.outcome(), PushReply::OUTCOME_DUPLICATE);
  EXPECT_EQ(Moved(*plane_, 0, {1}), (std::vector<float>{-1, -1}));
}

TEST_F(PushHandlerTest, RowsThatAreNotFiniteAreLeftOutAndNamed) {
  PushRequest push = PushOf(0);
  *push.add_tables() = GradientsOf(KeysOf(3, {10, 20, 30}), {1, kNan, 2, 2, -INFINITY, 0});
  ASSERT_TRUE(Push(*plane_, push, &reply_).ok());
  EXPECT_EQ(reply_.outcome(), PushReply::OUTCOME_ACCEPTED);
  EXPECT_EQ(reply_.refused_count(), 2u);
  ASSERT_EQ(reply_.refused_size(), 2);
  EXPECT_EQ(reply_.refused(0).table(), 3u);
  EXPECT_EQ(reply_.refused(0).key(), 10u);
  EXPECT_EQ(reply_.refused(0).code(), KeyStatus::CODE_NOT_FINITE);
  EXPECT_EQ(reply_.refused(1).key(), 30u);
  EXPECT_EQ(Moved(*plane_, 3, {10, 20, 30}), (std::vector<float>{0, 0, -2, -2, 0, 0}));
  EXPECT_EQ(plane_->tables().rows(), 1u) << "a refused row is not created";
}

TEST_F(PushHandlerTest, TheListOfRefusedRowsIsBoundedTheirCountIsNot) {
  std::vector<Key> keys(kKeyStatusesMax + 50);
  for (Key key = 0; key < keys.size(); ++key) keys[key] = key;
  PushRequest push = PushOf(0);
  *push.add_tables() = GradientsOf(KeysOf(0, keys), std::vector<float>(keys.size() * 2, kNan));
  ASSERT_TRUE(Push(*plane_, push, &reply_).ok());
  EXPECT_EQ(reply_.refused_size(), static_cast<int>(kKeyStatusesMax));
  EXPECT_EQ(reply_.refused_count(), keys.size());
}

// Dense and sparse frames alike: what says nothing makes no row and no optimizer step.
TEST_F(PushHandlerTest, RowsOfZerosDoNotAge) {
  PushRequest push = PushOf(0);
  *push.add_tables() = GradientsOf(KeysOf(0, {1, 2, 3}), {0, 0, 0, 4, -0.0f, 0});
  std::string sparse;
  ASSERT_TRUE(compression::EncodeSparse(2000, {2}, {4}, compression::ValueType::kFp16, &sparse).ok());
  std::vector<Key> keys(1000);
  for (Key key = 0; key < keys.size(); ++key) keys[key] = key;
  TableGradients* const gradients = push.add_tables();
  *gradients->mutable_keys() = KeysOf(1, keys);
  gradients->set_frame(sparse);
  ASSERT_TRUE(Push(*plane_, push, &reply_).ok());
  EXPECT_EQ(plane_->tables().at(0).Size().rows, 1u);
  EXPECT_EQ(plane_->tables().at(1).Size().rows, 1u);
  EXPECT_EQ(Moved(*plane_, 1, {1}), (std::vector<float>{-4, 0}));
}

TEST_F(PushHandlerTest, AnEmptyPartCounts) {
  ASSERT_TRUE(Push(*plane_, PushOf(0), &reply_).ok());
  EXPECT_EQ(plane_->Describe().applied_step(), 0);
}

TEST_F(PushHandlerTest, APushLetsWaitingLookupsThrough) {
  const LookupRequest request = LookupOf(1, {KeysOf(0, {1})});
  absl::Status status = absl::InternalError("waits");
  LookupCall call;
  call.request = &request;
  call.reply = &lookup_reply_;
  call.done = [&status](absl::Status answer) { status = std::move(answer); };
  plane_->lookups().Start(&call);
  PushRequest push = PushOf(0);
  *push.add_tables() = GradientsOf(KeysOf(0, {1}), {1, 1});
  const auto released = plane_->pushes().Push(push, &reply_);
  ASSERT_EQ(released->size(), 1u);
  EXPECT_FALSE(status.ok()) << "the push is answered first";
  (*released)[0]();
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(Decode(lookup_reply_.tables(0).frame(), 2), RowsOf(*plane_, 0, {1}));
  EXPECT_EQ(lookup_reply_.applied_step(), 0);
}

TEST(PushTicket, IsGoneWithItsPush) {
  const std::unique_ptr<TableRegistry> tables = *TableRegistry::Create(SmallJob{}.Make(), 0, 1);
  TrainingSteps steps(TrainingStepsOptions{}, tables.get());
  TicketStore tickets(1, 10);
  const PushHandler handler(kJobHash, tables.get(), &steps, &tickets);
  PartId id;
  id.incarnation = kIncarnation;
  ASSERT_TRUE(tickets.Put(id, std::make_shared<Ticket>()).ok());
  PushRequest push = PushOf(0);
  push.set_ticket(true);
  *push.add_tables() = GradientsOf(0, {1, 1});
  PushReply reply;
  EXPECT_FALSE(handler.Push(push, &reply).ok());
  EXPECT_NE(tickets.Find(id), nullptr) << "a refused push can be sent again, put right";
  push.clear_tables();
  EXPECT_TRUE(handler.Push(push, &reply).ok());
  EXPECT_EQ(tickets.Find(id), nullptr);
}

TEST(PushOfAnotherServersKeys, IsRefused) {
  EmbeddingServerOptions options;
  options.job = SmallJob{}.Make();
  options.job_hash = kJobHash;
  options.server_index = 1;
  options.shard_map = MakeShardMap(options.job.cluster().shards(), 2);
  const std::unique_ptr<DataPlane> plane = *DataPlane::Create(options);
  Key foreign = 0;
  while (ShardOfKey(0, foreign, 8) >= 4) ++foreign;
  PushRequest push = PushOf(0);
  *push.add_tables() = GradientsOf(KeysOf(0, {foreign}), {1, 1});
  PushReply reply;
  const absl::Status status = Push(*plane, push, &reply);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("of server 0, but this is server 1 (8 shards on 2 servers)"));
}

struct Refusal {
  std::string name;
  std::function<void(PushRequest*)> spoil;
  absl::StatusCode code;
  std::string message;
};

class PushRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(PushRefusalTest, SaysWhatIsWrongAndAppliesNothing) {
  const std::unique_ptr<DataPlane> plane = Make(SmallJob{});
  LookupReply lookup_reply;
  ASSERT_TRUE(Lookup(*plane, LookupOf(0, {KeysOf(1, {4, 5})}), &lookup_reply).ok());
  const PushRequest good = [] {
    PushRequest push = PushOf(0);
    *push.add_tables() = GradientsOf(KeysOf(0, {1, 2}), {1, 2, 3, 4});
    return push;
  }();
  PushRequest bad = good;
  GetParam().spoil(&bad);
  PushReply reply;
  const absl::Status status = Push(*plane, bad, &reply);
  EXPECT_EQ(status.code(), GetParam().code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
  EXPECT_EQ(plane->tables().rows(), 0u);
  EXPECT_EQ(plane->Describe().applied_step(), -1);
  ASSERT_TRUE(Push(*plane, good, &reply).ok());
  EXPECT_EQ(reply.outcome(), PushReply::OUTCOME_ACCEPTED) << "the refused push was not recorded";
}

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kPrecondition = absl::StatusCode::kFailedPrecondition;

void UseTicket(PushRequest* push) {
  push->set_ticket(true);
  push->clear_tables();
}

INSTANTIATE_TEST_SUITE_P(
    All, PushRefusalTest,
    testing::Values(Refusal{"JobHash", [](PushRequest* r) { r->set_job_hash(0x12); }, kPrecondition, "job 12, this server job abcdef"},
                    Refusal{"Rank", [](PushRequest* r) { r->set_worker_rank(1); }, kInvalid, "worker_rank 1"},
                    Refusal{"Step", [](PushRequest* r) { r->set_step(-1); }, kInvalid, "step -1"},
                    Refusal{"StepTooFar", [](PushRequest* r) { r->set_step(64); }, absl::StatusCode::kResourceExhausted,
                            "64 steps ahead of step 0"},
                    Refusal{"Parts", [](PushRequest* r) { r->set_parts(2000); }, kInvalid, "parts 2000"},
                    Refusal{"Samples", [](PushRequest* r) { r->set_samples(1u << 31); }, kInvalid, "samples: 2147483648"},
                    Refusal{"Table", [](PushRequest* r) { r->mutable_tables(0)->mutable_keys()->set_table(99); }, kInvalid, "no table 99"},
                    Refusal{"TableTwice", [](PushRequest* r) { *r->add_tables() = r->tables(0); }, kInvalid, "named twice"},
                    Refusal{"Width",
                            [](PushRequest* r) {
                              r->mutable_tables(0)->set_frame(FrameOf({1, 2, 3}));
                            },
                            kInvalid, "table C1, frame of 2 keys x dim 2: the frame has 3 entries, not 4"},
                    Refusal{"Checksum", [](PushRequest* r) { r->mutable_tables(0)->mutable_frame()->back() ^= 1; }, kInvalid, "checksum"},
                    Refusal{"NoFrame", [](PushRequest* r) { r->mutable_tables(0)->clear_frame(); }, kInvalid, "table C1, frame"},
                    Refusal{"Keys", [](PushRequest* r) { r->mutable_tables(0)->mutable_keys()->set_count(1); }, kInvalid, "table C1, keys"},
                    Refusal{"PooledWithoutTicket", [](PushRequest* r) { r->set_pooled_frame("x"); }, kInvalid, "pooled_frame"},
                    Refusal{"NoTicket",
                            [](PushRequest* r) {
                              UseTicket(r);
                              r->set_parts(2);
                              r->set_part(1);
                            },
                            kPrecondition, "holds no lookup of part 1 of step 0 of worker 0"},
                    Refusal{"TicketOfAnotherIncarnation",
                            [](PushRequest* r) {
                              UseTicket(r);
                              r->set_incarnation(1);
                            },
                            kPrecondition, "push it again with keys"},
                    Refusal{"TableNotOfTicket",
                            [](PushRequest* r) {
                              UseTicket(r);
                              *r->add_tables() = GradientsOf(0, {1, 2, 3, 4});
                            },
                            kInvalid, "table C1: the lookup of this ticket had no keys of it"},
                    Refusal{"KeysBesideTicket",
                            [](PushRequest* r) {
                              UseTicket(r);
                              *r->add_tables() = GradientsOf(KeysOf(1, {4, 5}), {1, 2, 3, 4});
                            },
                            kInvalid, "no keys of its own"},
                    Refusal{"PooledForRowScope",
                            [](PushRequest* r) {
                              UseTicket(r);
                              r->set_pooled_frame("x");
                            },
                            kInvalid, "was not pooled"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weir::server
