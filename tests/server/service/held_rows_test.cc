// Changes of rows that a worker holds, through the handlers.
#include "server/service/held_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compression/key_codec.h"
#include "compression/packed_bytes.h"
#include "compression/row_changes.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr uint64_t kRowsMax = 1000;

std::unique_ptr<DataPlane> MakePlane(bool changes = true) {
  EmbeddingServerOptions options;
  options.job = SmallJob{}.Make();
  options.job_hash = kJobHash;
  if (changes) {
    options.job.mutable_compression()->mutable_lookup()->set_scope(Compression::SCOPE_CHANGE);
    options.job.mutable_compression()->mutable_lookup()->set_cache_rows(kRowsMax);
  }
  auto plane = DataPlane::Create(options);
  EXPECT_TRUE(plane.ok()) << plane.status();
  return *std::move(plane);
}

// Asks for held rows by number and for new ones, which are numbered from first_new.
LookupRequest ChangesOf(int64_t step, const std::vector<Key>& numbers, uint32_t first_new, const std::vector<Key>& added,
                        uint32_t generation = 1) {
  LookupRequest request = LookupOf(step, {KeysOf(0, added)});
  request.set_reply(LookupRequest::REPLY_CHANGES);
  request.set_values(Compression::VALUES_FP32);
  HeldRows* const held = request.mutable_tables(0)->mutable_held();
  held->set_generation(generation);
  held->set_first_new(first_new);
  held->set_count(static_cast<uint32_t>(numbers.size()));
  compression::EncodeKeysSorted(numbers, held->mutable_numbers());
  return request;
}

class HeldRowsTest : public testing::Test {
 protected:
  // Pushes a gradient for the rows of the last lookup, which was of `step`.
  void PushTicket(int64_t step, const std::vector<float>& gradient) {
    PushRequest request = PushOf(step);
    request.set_ticket(true);
    *request.add_tables() = GradientsOf(0, gradient);
    PushReply reply;
    const absl::Status status = Push(*plane_, request, &reply);
    ASSERT_TRUE(status.ok()) << status;
  }
  absl::Status Ask(const LookupRequest& request) {
    reply_.Clear();
    return Lookup(*plane_, request, &reply_);
  }

  // So that rows are not what they were at first, and travel.
  void Touch(const std::vector<Key>& keys) {
    PushRequest request = PushOf(0);
    *request.add_tables() = GradientsOf(0, std::vector<float>(keys.size() * 2, 0.5f));
    *request.mutable_tables(0)->mutable_keys() = KeysOf(0, keys);
    PushReply reply;
    const absl::Status status = Push(*plane_, request, &reply);
    ASSERT_TRUE(status.ok()) << status;
  }

  std::unique_ptr<DataPlane> plane_ = MakePlane();
  LookupReply reply_;
};

TEST_F(HeldRowsTest, NewRowsTravelWholeAndLaterOnlyWhatChanged) {
  Touch({5, 7, 9, 12});
  ASSERT_TRUE(Ask(ChangesOf(1, {}, 0, {5, 9, 12})).ok());
  std::vector<float> held = Decode(reply_.tables(0).frame(), 6);
  EXPECT_EQ(held, RowsOf(*plane_, 0, {5, 9, 12}));
  EXPECT_EQ(reply_.tables(0).changes(), "");
  EXPECT_EQ(reply_.tables(0).initial_rows(), "");
  PushTicket(1, {0, 0, 1, 0, 0, 0});  // key 9, its first entry

  ASSERT_TRUE(Ask(ChangesOf(2, {0, 1}, 3, {7})).ok());
  EXPECT_EQ(compression::DecodeHeader(reply_.tables(0).changes())->kept, 1u);
  std::vector<float> known(held.begin(), held.begin() + 4);
  ASSERT_TRUE(compression::DecodeRowChanges(reply_.tables(0).changes(), absl::MakeSpan(known)).ok());
  EXPECT_EQ(known, RowsOf(*plane_, 0, {5, 9}));
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 2), RowsOf(*plane_, 0, {7}));
  // The push of that lookup reaches the rows that the numbers stand for, in their order.
  const std::vector<float> before = RowsOf(*plane_, 0, {5, 9, 7});
  PushTicket(2, {1, 0, 2, 0, 3, 0});
  const std::vector<float> after = RowsOf(*plane_, 0, {5, 9, 7});
  for (size_t row = 0; row < 3; ++row) EXPECT_FLOAT_EQ(after[row * 2], before[row * 2] - static_cast<float>(row + 1));
}

// One bit each: the worker computes them.
TEST_F(HeldRowsTest, RowsThatWereNeverUpdatedDoNotTravel) {
  Touch({9});
  for (const bool pack : {false, true}) {
    LookupRequest request = ChangesOf(1, {}, 0, {5, 9, 12}, pack ? 2 : 1);
    if (pack) request.set_entropy(Compression::ENTROPY_HUFFMAN);
    ASSERT_TRUE(Ask(request).ok());
    EXPECT_EQ(Decode(reply_.tables(0).frame(), 2), RowsOf(*plane_, 0, {9}));
    EXPECT_EQ(*compression::ReadWholeSection(reply_.tables(0).initial_rows(), 1), std::string(1, 0b101));
    EXPECT_EQ(reply_.tables(0).initial(), 2u);
    PushTicket(1, {1, 0, 0, 0, 0, 0});
    if (!pack) plane_ = MakePlane();
    if (!pack) Touch({9});
  }
  // What the worker computed is what is compared with later.
  LookupRequest request = ChangesOf(2, {0, 2}, 3, {}, 2);
  ASSERT_TRUE(Ask(request).ok());
  EXPECT_EQ(compression::DecodeHeader(reply_.tables(0).changes())->kept, 1u);
}

TEST_F(HeldRowsTest, NumbersAreInTheCodingOfTheKeys) {
  std::vector<Key> added(200), numbers;
  for (size_t i = 0; i < added.size(); ++i) added[i] = 3 * i;
  for (Key number = 0; number < 200; number += 2) numbers.push_back(number);
  ASSERT_TRUE(Ask(ChangesOf(0, {}, 0, added)).ok());
  PushTicket(0, std::vector<float>(400, 1.0f));
  LookupRequest request = ChangesOf(1, numbers, 200, {1001});
  TableKeys* const keys = request.mutable_tables(0);
  keys->set_coding(TableKeys::CODING_SORTED_RICE);
  keys->clear_keys();
  compression::EncodeKeysRice({1001}, keys->mutable_keys());
  EXPECT_THAT(std::string(Ask(request).message()), HasSubstr("held.numbers"));
  keys->mutable_held()->clear_numbers();
  compression::EncodeKeysRice(numbers, keys->mutable_held()->mutable_numbers());
  EXPECT_LT(keys->held().numbers().size(), 40u);
  ASSERT_TRUE(Ask(request).ok());
  EXPECT_EQ(compression::DecodeHeader(reply_.tables(0).changes())->size, 200u);
  EXPECT_EQ(reply_.tables(0).initial(), 1u);
}

// A table may be answered in its own way beside others.
TEST_F(HeldRowsTest, ATableThatIsNotHeld) {
  LookupRequest request = ChangesOf(0, {}, 0, {5});
  request.mutable_tables(0)->clear_held();
  request.mutable_tables(0)->mutable_reply()->set_reply(LookupRequest::REPLY_FP32);
  ASSERT_TRUE(Ask(request).ok());
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 2), RowsOf(*plane_, 0, {5}));
  request = ChangesOf(0, {}, 0, {5});
  request.mutable_tables(0)->mutable_reply()->set_reply(LookupRequest::REPLY_FP32);
  *request.add_tables() = KeysOf(1, {4});
  EXPECT_THAT(std::string(Ask(request).message()), HasSubstr("table C1, held: its rows are not answered by changes"));
}

TEST_F(HeldRowsTest, TheSameLookupAgainGetsTheSameAnswer) {
  ASSERT_TRUE(Ask(ChangesOf(0, {}, 0, {5})).ok());
  PushTicket(0, {1, 1});
  const LookupRequest request = ChangesOf(1, {0}, 1, {6});
  ASSERT_TRUE(Ask(request).ok());
  const std::string first = reply_.SerializeAsString();
  EXPECT_EQ(compression::DecodeHeader(reply_.tables(0).changes())->kept, 2u);
  ASSERT_TRUE(Ask(request).ok());
  EXPECT_EQ(reply_.SerializeAsString(), first);
}

TEST_F(HeldRowsTest, ALaterGenerationForgetsTheOneBefore) {
  Touch({6});
  ASSERT_TRUE(Ask(ChangesOf(1, {}, 0, {5, 6})).ok());
  PushTicket(1, {0, 0, 0, 0});
  ASSERT_TRUE(Ask(ChangesOf(2, {}, 0, {6}, 2)).ok());
  EXPECT_EQ(Decode(reply_.tables(0).frame(), 2), RowsOf(*plane_, 0, {6}));
  PushTicket(2, {0, 0});
  EXPECT_THAT(std::string(Ask(ChangesOf(3, {1}, 0, {}, 2)).message()), HasSubstr("table C1, held.numbers: this server knows no row 1"));
  const absl::Status old = Ask(ChangesOf(3, {0}, 0, {}, 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(old)) << old;
  EXPECT_THAT(std::string(old.message()), HasSubstr("held.generation"));
}

TEST_F(HeldRowsTest, AnotherIncarnationHoldsNothing) {
  ASSERT_TRUE(Ask(ChangesOf(0, {}, 0, {5})).ok());
  LookupRequest request = ChangesOf(0, {0}, 1, {});
  request.set_incarnation(kIncarnation + 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask(request)));
}

TEST_F(HeldRowsTest, RefusesWhatCannotBe) {
  EXPECT_THAT(std::string(Ask(ChangesOf(0, {4}, 0, {})).message()), HasSubstr("this server knows no row 4"));
  EXPECT_THAT(std::string(Ask(ChangesOf(0, {}, kRowsMax, {1})).message()), HasSubstr("compression.lookup.cache_rows"));
  EXPECT_THAT(std::string(Ask(ChangesOf(0, {kRowsMax}, 0, {})).message()), HasSubstr("held.numbers: 1000, at most 999"));
  EXPECT_THAT(std::string(Ask(ChangesOf(0, {~Key{0}}, 0, {})).message()), HasSubstr("held.numbers"));
  LookupRequest request = ChangesOf(0, {0, 1}, 0, {});
  request.mutable_tables(0)->mutable_held()->set_count(3);
  EXPECT_THAT(std::string(Ask(request).message()), HasSubstr("held.numbers"));
  // More than a reply can bring, said before anything is decoded: the numbers are not even there.
  request.mutable_tables(0)->mutable_held()->set_count(5000000);
  EXPECT_THAT(std::string(Ask(request).message()), HasSubstr("the reply would take 40000000 bytes"));
  request = ChangesOf(0, {}, 0, {1});
  request.set_sparsity(1);
  EXPECT_THAT(std::string(Ask(request).message()), HasSubstr("sparsity: 1"));
  request = ChangesOf(0, {}, 0, {1});
  request.set_purpose(LookupRequest::PURPOSE_EVALUATE);
  EXPECT_THAT(std::string(Ask(request).message()), HasSubstr("changes go to lookups for training"));
  plane_ = MakePlane(false);
  EXPECT_THAT(std::string(Ask(ChangesOf(0, {}, 0, {1})).message()), HasSubstr("compression.lookup.scope: change"));
}

}  // namespace
}  // namespace weir::server
