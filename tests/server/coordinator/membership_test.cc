#include "server/coordinator/membership.h"

#include <string>

#include "base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1000);

RegisterRequest RequestOf(Role role, uint64_t incarnation) {
  RegisterRequest request;
  request.set_role(role);
  request.set_protocol_version(kProtocolVersion);
  request.set_address("127.0.0.1:4000");
  request.set_pid(77);
  request.set_incarnation(incarnation);
  return request;
}

TEST(MembershipTest, IndexesFollowTheOrderOfArrival) {
  Membership membership({2, 2});
  EXPECT_EQ(*membership.Register(RequestOf(ROLE_SERVER, 1), kNow), 0u);
  EXPECT_EQ(*membership.Register(RequestOf(ROLE_WORKER, 2), kNow), 0u);
  EXPECT_EQ(membership.Waiting(), "1 of 2 servers and 1 of 2 workers have registered");
  EXPECT_EQ(*membership.Register(RequestOf(ROLE_SERVER, 3), kNow), 1u);
  EXPECT_FALSE(membership.complete());
  EXPECT_EQ(*membership.Register(RequestOf(ROLE_WORKER, 4), kNow), 1u);
  EXPECT_TRUE(membership.complete());
}

TEST(MembershipTest, ARepeatedRegisterKeepsItsIndex) {
  Membership membership({1, 1});
  ASSERT_EQ(*membership.Register(RequestOf(ROLE_SERVER, 1), kNow), 0u);
  EXPECT_EQ(*membership.Register(RequestOf(ROLE_SERVER, 1), kNow), 0u);
}

TEST(MembershipTest, OneTooManyIsRefused) {
  Membership membership({1, 1});
  ASSERT_TRUE(membership.Register(RequestOf(ROLE_WORKER, 1), kNow).ok());
  const absl::Status status = membership.Register(RequestOf(ROLE_WORKER, 2), kNow).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cluster.workers"));
}

TEST(MembershipTest, AServerComesBackInItsPlace) {
  Membership membership({2, 1});
  ASSERT_TRUE(membership.Register(RequestOf(ROLE_SERVER, 1), kNow).ok());
  RegisterRequest back = RequestOf(ROLE_SERVER, 9);
  back.set_rejoin(true);
  EXPECT_EQ(*membership.Register(back, kNow), 0u);
  EXPECT_TRUE(membership.Find({ROLE_SERVER, 0, 9}).ok());
  EXPECT_FALSE(membership.Find({ROLE_SERVER, 0, 1}).ok()) << "its earlier life";
  back.set_incarnation(10);
  back.set_address("127.0.0.1:4001");
  EXPECT_THAT(std::string(membership.Register(back, kNow).status().message()), HasSubstr("it must listen where it did"));
  back.set_index(1);
  EXPECT_THAT(std::string(membership.Register(back, kNow).status().message()), HasSubstr("server 1 cannot come back"));
  back.set_role(ROLE_WORKER);
  EXPECT_TRUE(absl::IsInvalidArgument(membership.Register(back, kNow).status()));
}

TEST(MembershipTest, PlacesComeAndGo) {
  Membership membership({1, 1});
  ASSERT_EQ(*membership.Register(RequestOf(ROLE_SERVER, 1), kNow), 0u);
  EXPECT_TRUE(membership.HasAllServers());
  membership.SetServerPlaces(2);
  EXPECT_FALSE(membership.HasAllServers());
  EXPECT_EQ(*membership.Register(RequestOf(ROLE_SERVER, 2), kNow), 1u);
  EXPECT_TRUE(membership.HasAllServers());
  membership.SetServerPlaces(1);
  ASSERT_NE(membership.Retiring(), nullptr);
  EXPECT_EQ(membership.Retiring()->index, 1u);
  membership.SetServerPlaces(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(membership.Register(RequestOf(ROLE_SERVER, 3), kNow).status())) << "its place is not free yet";
  (*membership.Find({ROLE_SERVER, 1, 2}))->left = true;
  EXPECT_EQ(membership.Retiring(), nullptr);
  EXPECT_FALSE(membership.HasAllServers());
  EXPECT_EQ(*membership.Register(RequestOf(ROLE_SERVER, 3), kNow), 1u);
  EXPECT_TRUE(membership.HasAllServers());
}

TEST(MembershipTest, AnotherProtocolVersionIsRefused) {
  Membership membership({1, 1});
  RegisterRequest request = RequestOf(ROLE_WORKER, 1);
  request.set_protocol_version(kProtocolVersion + 1);
  const absl::Status status = membership.Register(request, kNow).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("127.0.0.1:4000"));
}

TEST(MembershipTest, ARoleIsNeeded) {
  Membership membership({1, 1});
  EXPECT_TRUE(absl::IsInvalidArgument(membership.Register(RequestOf(ROLE_UNSPECIFIED, 1), kNow).status()));
}

TEST(MembershipTest, OnlyTheSameIncarnationIsFound) {
  Membership membership({1, 1});
  ASSERT_TRUE(membership.Register(RequestOf(ROLE_SERVER, 5), kNow).ok());
  EXPECT_TRUE(membership.Find({ROLE_SERVER, 0, 5}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(membership.Find({ROLE_SERVER, 0, 6}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(membership.Find({ROLE_SERVER, 1, 5}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(membership.Find({ROLE_WORKER, 0, 5}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(membership.CheckWorker(0)));
}

TEST(MembershipTest, TheLongestSilentIsNamed) {
  Membership membership({1, 1});
  ASSERT_TRUE(membership.Register(RequestOf(ROLE_SERVER, 1), kNow).ok());
  ASSERT_TRUE(membership.Register(RequestOf(ROLE_WORKER, 2), kNow + absl::Seconds(1)).ok());
  EXPECT_EQ(membership.Silent(kNow + absl::Seconds(9.9), absl::Seconds(10)), nullptr);
  const Member* silent = membership.Silent(kNow + absl::Seconds(11), absl::Seconds(10));
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->Describe(), "server 0 at 127.0.0.1:4000 (pid 77)");
  (*membership.Find({ROLE_SERVER, 0, 1}))->left = true;
  silent = membership.Silent(kNow + absl::Seconds(11), absl::Seconds(10));
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->role, ROLE_WORKER);
}

}  // namespace
}  // namespace weir::server
