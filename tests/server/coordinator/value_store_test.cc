#include "server/coordinator/value_store.h"

#include <string>
#include <vector>

#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

PutValueRequest PutOf(const std::string& key, const std::string& value) {
  PutValueRequest request;
  request.set_key(key);
  request.set_value(value);
  return request;
}

GetValuesRequest GetOf(const std::vector<std::string>& keys) {
  GetValuesRequest request;
  for (const std::string& key : keys) request.add_keys(key);
  return request;
}

class ValueStoreTest : public ::testing::Test {
 protected:
  absl::Status Put(const std::string& key, const std::string& value) {
    Answers answers;
    absl::Status status = store_.Put(PutOf(key, value), &answers);
    answers.Send();
    return status;
  }
  void Get(const std::vector<std::string>& keys) {
    Answers answers;
    store_.Get(GetOf(keys), &reply_, {deadline_, [this](const absl::Status& status) { answered_.push_back(status); }}, &answers);
    answers.Send();
  }

  const absl::Time deadline_ = absl::FromUnixSeconds(100);
  ValueStore store_;
  GetValuesReply reply_;
  std::vector<absl::Status> answered_;
};

TEST_F(ValueStoreTest, ReaderWaitsForItsLastValue) {
  ASSERT_TRUE(Put("a", "1").ok());
  Get({"b", "a"});
  EXPECT_TRUE(answered_.empty());
  ASSERT_TRUE(Put("c", "3").ok());
  EXPECT_TRUE(answered_.empty());
  ASSERT_TRUE(Put("b", "2").ok());
  EXPECT_THAT(answered_, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(reply_.values(), ElementsAre("2", "1"));
}

TEST_F(ValueStoreTest, AValueDoesNotChange) {
  ASSERT_TRUE(Put("a", "1").ok());
  EXPECT_TRUE(Put("a", "1").ok());
  const absl::Status status = Put("a", "2");
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("'a'"));
  Get({"a"});
  EXPECT_THAT(reply_.values(), ElementsAre("1"));
}

TEST_F(ValueStoreTest, DeadlineNamesWhatIsMissing) {
  ASSERT_TRUE(Put("there", "1").ok());
  Get({"there", "absent/1", "absent/2"});
  Answers answers;
  store_.Expire(deadline_ - absl::Nanoseconds(1), &answers);
  answers.Send();
  EXPECT_TRUE(answered_.empty());
  store_.Expire(deadline_, &answers);
  answers.Send();
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(answered_[0]));
  EXPECT_THAT(std::string(answered_[0].message()), HasSubstr("absent/1, absent/2"));
  EXPECT_THAT(std::string(answered_[0].message()), Not(HasSubstr("there,")));
  // An expired reader is forgotten: it is not answered twice.
  ASSERT_TRUE(Put("absent/1", "1").ok());
  ASSERT_TRUE(Put("absent/2", "1").ok());
  EXPECT_EQ(answered_.size(), 1u);
}

TEST_F(ValueStoreTest, FailureReleasesEveryReader) {
  Get({"a"});
  Get({"b"});
  Answers answers;
  store_.FailAll(absl::AbortedError("over"), &answers);
  answers.Send();
  EXPECT_THAT(answered_, ElementsAre(absl::AbortedError("over"), absl::AbortedError("over")));
}

TEST_F(ValueStoreTest, LimitsHold) {
  EXPECT_TRUE(Put(std::string(kValueKeyBytesMax, 'k'), std::string(kValueBytesMax, 'v')).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Put(std::string(kValueKeyBytesMax + 1, 'k'), "v")));
  EXPECT_TRUE(absl::IsInvalidArgument(Put("", "v")));
  EXPECT_TRUE(absl::IsResourceExhausted(Put("key", std::string(kValueBytesMax + 1, 'v'))));
  Get(std::vector<std::string>(kServersMax + kWorkersMax + 1, "key"));
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(answered_[0]));
  // One large value many times over would not fit into a reply.
  Get(std::vector<std::string>(kServersMax, std::string(kValueKeyBytesMax, 'k')));
  ASSERT_EQ(answered_.size(), 2u);
  EXPECT_TRUE(absl::IsResourceExhausted(answered_[1]));
}

TEST_F(ValueStoreTest, WaitingReadersAreBounded) {
  for (size_t i = 0; i < kWaitingCallsMax; ++i) Get({"never"});
  EXPECT_TRUE(answered_.empty());
  Get({"never"});
  ASSERT_EQ(answered_.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(answered_[0]));
}

}  // namespace
}  // namespace weir::server
