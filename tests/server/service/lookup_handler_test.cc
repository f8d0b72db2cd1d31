#include "server/service/lookup_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "server/service/call_keys.h"
#include "server/service/data_plane.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

std::unique_ptr<DataPlane> Make(const SmallJob& job) {
  EmbeddingServerOptions options;
  options.job = job.Make();
  options.job_hash = kJobHash;
  return *DataPlane::Create(options);
}

class LookupHandlerTest : public testing::Test {
 protected:
  const std::unique_ptr<DataPlane> plane_ = Make(SmallJob{});
  LookupReply reply_;
};

TEST_F(LookupHandlerTest, AnswersEveryTableInTheOrderOfItsKeys) {
  const std::vector<Key> sorted = {0, 5, ~Key{0}}, raw = {9, 1, 9};
  plane_->tables().at(3).Apply({5}, {1, 2}, {1});
  ASSERT_TRUE(Lookup(*plane_, LookupOf(0, {KeysOf(3, sorted), KeysOf(0, raw), KeysOf(1, {})}), &reply_).ok());
  ASSERT_EQ(reply_.tables_size(), 3);
  EXPECT_EQ(reply_.tables(0).table(), 3u);
  EXPECT_EQ(reply_.tables(0).initial(), 2u);
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 6), RowsOf(*plane_, 3, sorted));
  EXPECT_EQ(reply_.tables(1).initial(), 3u);
  EXPECT_EQ(Decode(reply_.tables(1).frame(), 6), RowsOf(*plane_, 0, raw));
  EXPECT_EQ(compression::DecodeHeader(reply_.tables(2).frame())->size, 0u);
  EXPECT_EQ(reply_.applied_step(), -1);
  EXPECT_EQ(plane_->tables().rows(), 1u) << "a lookup creates nothing";
}

TEST_F(LookupHandlerTest, HalfPrecisionIsTheRoundedRow) {
  LookupRequest request = LookupOf(0, {KeysOf(0, {1, 2})});
  request.set_reply(LookupRequest::REPLY_FP16);
  ASSERT_TRUE(Lookup(*plane_, request, &reply_).ok());
  std::vector<float> rounded = RowsOf(*plane_, 0, {1, 2});
  compression::RoundValues(compression::ValueType::kFp16, absl::MakeSpan(rounded));
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 4), rounded);
}

TEST_F(LookupHandlerTest, OtherTypesAreTheRoundedRowToo) {
  const std::vector<float> exact = RowsOf(*plane_, 0, {1, 2});
  LookupRequest request = LookupOf(0, {KeysOf(0, {1, 2})});
  request.set_reply(LookupRequest::REPLY_BF16);
  ASSERT_TRUE(Lookup(*plane_, request, &reply_).ok());
  std::vector<float> rounded = exact;
  compression::RoundValues(compression::ValueType::kBf16, absl::MakeSpan(rounded));
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 4), rounded);

  reply_.Clear();
  request = LookupOf(1, {KeysOf(0, {1, 2})});
  request.set_purpose(LookupRequest::PURPOSE_EVALUATE);
  request.set_reply(LookupRequest::REPLY_INT8);
  ASSERT_TRUE(Lookup(*plane_, request, &reply_).ok());
  EXPECT_EQ(compression::DecodeHeader(reply_.tables(0).frame())->block, 2u) << "a row is a block";
  rounded = exact;
  for (size_t row = 0; row < 2; ++row) compression::RoundValues(compression::ValueType::kInt8, absl::MakeSpan(rounded).subspan(row * 2, 2));
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 4), rounded);
}

TEST_F(LookupHandlerTest, ARowBeyondHalfPrecisionIsAnErrorThatNamesItsTable) {
  plane_->tables().at(2).Apply({1}, {-1e6f, 0}, {1});
  LookupRequest request = LookupOf(0, {KeysOf(2, {1})});
  request.set_reply(LookupRequest::REPLY_FP16);
  EXPECT_THAT(std::string(Lookup(*plane_, request, &reply_).message()), HasSubstr("table C3"));
}

void AskWhatIf(const std::vector<float>& gradients, LookupRequest* request) {
  request->set_purpose(LookupRequest::PURPOSE_EVALUATE);
  request->set_what_if_samples(1);
  request->mutable_tables(0)->set_what_if_gradients(FrameOf(gradients));
}

// A table that is not asked about answers as it is.
TEST_F(LookupHandlerTest, RowsAsAGradientWouldLeaveThem) {
  LookupRequest request = LookupOf(0, {KeysOf(0, {1, 2}), KeysOf(1, {1, 2})});
  AskWhatIf({1, -1, 0.5f, 2}, &request);
  const std::vector<float> before = RowsOf(*plane_, 0, {1, 2});
  ASSERT_TRUE(Lookup(*plane_, request, &reply_).ok());
  EXPECT_EQ(RowsOf(*plane_, 0, {1, 2}), before);
  EXPECT_EQ(Decode(reply_.tables(1).frame(), 4), RowsOf(*plane_, 1, {1, 2}));
  plane_->tables().at(0).Apply({1, 2}, {1, -1, 0.5f, 2}, {1});
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 4), RowsOf(*plane_, 0, {1, 2}));
}

TEST_F(LookupHandlerTest, EvaluationNeedsNoPlaceInTheJob) {
  LookupRequest request = LookupOf(-1, {KeysOf(0, {1})});
  request.set_purpose(LookupRequest::PURPOSE_EVALUATE);
  request.set_worker_rank(12345);
  request.set_parts(0);
  EXPECT_TRUE(Lookup(*plane_, request, &reply_).ok());
}

struct Refusal {
  std::string name;
  std::function<void(LookupRequest*)> spoil;
  absl::StatusCode code;
  std::string message;
};

class LookupRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(LookupRefusalTest, SaysWhatIsWrong) {
  const std::unique_ptr<DataPlane> plane = Make(SmallJob{});
  LookupRequest request = LookupOf(0, {KeysOf(0, {1, 2})});
  GetParam().spoil(&request);
  LookupReply reply;
  const absl::Status status = Lookup(*plane, request, &reply);
  EXPECT_EQ(status.code(), GetParam().code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kExhausted = absl::StatusCode::kResourceExhausted;

INSTANTIATE_TEST_SUITE_P(
    All, LookupRefusalTest,
    testing::Values(Refusal{"JobHash", [](LookupRequest* r) { r->set_job_hash(0x12); }, absl::StatusCode::kFailedPrecondition,
                            "job 12, this server job abcdef"},
                    Refusal{"Purpose", [](LookupRequest* r) { r->clear_purpose(); }, kInvalid, "purpose 0"},
                    Refusal{"Reply", [](LookupRequest* r) { r->clear_reply(); }, kInvalid, "reply 0"},
                    Refusal{"Rank", [](LookupRequest* r) { r->set_worker_rank(1); }, kInvalid, "worker_rank 1: this job has 1 workers"},
                    Refusal{"Step", [](LookupRequest* r) { r->set_step(-3); }, kInvalid, "step -3"},
                    Refusal{"StepTooFar", [](LookupRequest* r) { r->set_step(1000); }, kExhausted, "needs step 999"},
                    Refusal{"Parts", [](LookupRequest* r) { r->set_parts(0); }, kInvalid, "parts 0"},
                    Refusal{"Part", [](LookupRequest* r) { r->set_part(1); }, kInvalid, "part 1"},
                    Refusal{"Table", [](LookupRequest* r) { r->mutable_tables(0)->set_table(26); }, kInvalid,
                            "no table 26: this job has 26"},
                    Refusal{"TableTwice", [](LookupRequest* r) { *r->add_tables() = KeysOf(0, {7}); }, kInvalid, "table C1 is named twice"},
                    Refusal{"Coding", [](LookupRequest* r) { r->mutable_tables(0)->clear_coding(); }, kInvalid, "coding 0"},
                    Refusal{"Count", [](LookupRequest* r) { r->mutable_tables(0)->set_count(3); }, kInvalid, "table C1, keys"},
                    Refusal{"CountPastLimit", [](LookupRequest* r) { r->mutable_tables(0)->set_count(1u << 30); }, kInvalid,
                            "table C1, count: 1073741824"},
                    Refusal{"WhatIfInTraining",
                            [](LookupRequest* r) {
                              AskWhatIf({1, 2, 3, 4}, r);
                              r->set_purpose(LookupRequest::PURPOSE_TRAIN);
                            },
                            kInvalid, "what_if_gradients: only lookups of rows for evaluation"},
                    Refusal{"WhatIfSize",
                            [](LookupRequest* r) {
                              AskWhatIf({1, 2, 3}, r);
                            },
                            kInvalid, "table C1, what_if_gradients"},
                    Refusal{"WhatIfNotFinite",
                            [](LookupRequest* r) {
                              AskWhatIf({1, 2, 3, INFINITY}, r);
                            },
                            kInvalid, "table C1, what_if_gradients: a gradient is not finite"},
                    Refusal{"WhatIfSamples",
                            [](LookupRequest* r) {
                              AskWhatIf({1, 2, 3, 4}, r);
                              r->clear_what_if_samples();
                            },
                            kInvalid, "what_if_samples: 0"}),
    [](const auto& info) { return info.param.name; });

TEST(LookupLimits, ARequestForMoreThanAMessageHoldsIsRefusedBeforeItIsRead) {
  SmallJob job;
  job.dim = 4096;
  const std::unique_ptr<DataPlane> plane = Make(job);
  std::vector<Key> keys(2048);
  for (Key key = 0; key < keys.size(); ++key) keys[key] = key;
  LookupReply reply;
  const absl::Status status = Lookup(*plane, LookupOf(0, {KeysOf(0, keys)}), &reply);
  EXPECT_EQ(status.code(), kExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("split the call"));
}

TEST(LookupLimits, KeysOfAnotherServerAreRefused) {
  EmbeddingServerOptions options;
  options.job = SmallJob().Make();
  options.job_hash = kJobHash;
  options.server_index = 1;
  options.shard_map = MakeShardMap(options.job.cluster().shards(), 2);
  const std::unique_ptr<DataPlane> plane = *DataPlane::Create(options);
  Key foreign = 0;
  while (ShardOfKey(0, foreign, 8) >= 4) ++foreign;
  LookupReply reply;
  EXPECT_EQ(Lookup(*plane, LookupOf(0, {KeysOf(0, {foreign})}), &reply).code(), kInvalid);
}

}  // namespace
}  // namespace weir::server
