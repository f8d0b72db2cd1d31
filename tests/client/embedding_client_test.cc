#include "client/embedding_client.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_data_service.h"

namespace weir::client {
namespace {

using testing::HasSubstr;

const std::vector<TableInfo> kTables = {{"C1", 4}, {"C2", 3}};
constexpr Key kLastKey = std::numeric_limits<Key>::max();

std::vector<float> InitialRows(uint32_t table, const std::vector<Key>& keys) {
  std::vector<float> rows;
  for (const Key key : keys) {
    for (uint32_t column = 0; column < kTables[table].dim; ++column) rows.push_back(FakeInitialValue(table, key, column));
  }
  return rows;
}

std::unique_ptr<Client> ConnectOrDie(ClientOptions options) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

// Pushes and reads back random keys, duplicates among them; the scalar truth is a map.
void CheckRoundTrip(FakeCluster* cluster, Client* client, int64_t steps) {
  std::mt19937_64 random(1);
  std::map<Key, std::vector<float>> truth;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Key> keys(200);
    for (Key& key : keys) key = random() % 60;
    keys[0] = 0;
    keys[1] = keys[2] = kLastKey;
    std::vector<float> gradients(keys.size() * 4);
    for (float& value : gradients) value = static_cast<float>(random() % 64) / 64;
    for (size_t i = 0; i < keys.size(); ++i) {
      std::vector<float>& row = truth[keys[i]];
      if (row.empty()) row = InitialRows(0, {keys[i]});
      for (uint32_t column = 0; column < 4; ++column) row[column] -= gradients[i * 4 + column];
    }
    absl::Status status = client->Push(step, 200, 0, keys, gradients);
    ASSERT_TRUE(status.ok()) << status;
    keys.push_back(1000000);
    std::vector<float> rows(keys.size() * 4);
    uint64_t initial = 0;
    status = client->Lookup(0, keys, absl::MakeSpan(rows), &initial);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(initial, 1u);
    for (size_t i = 0; i + 1 < keys.size(); ++i) {
      for (uint32_t column = 0; column < 4; ++column) ASSERT_EQ(rows[i * 4 + column], truth[keys[i]][column]);
    }
    for (uint32_t server = 0; server < ServersOf(cluster->map()); ++server) {
      EXPECT_EQ(cluster->server(server).complete_steps().count(step), 1u);
    }
  }
}

TEST(ClientTest, LearnsTheTables) {
  FakeCluster cluster(2, kTables);
  const auto client = ConnectOrDie(cluster.options());
  ASSERT_EQ(client->tables().size(), 2u);
  EXPECT_EQ(*client->TableIndex("C2"), 1u);
  const absl::Status missing = client->TableIndex("C3").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("C1, C2"));
}

TEST(ClientTest, RoundTripEqualsAMap) {
  for (const uint32_t servers : {1u, 3u}) {
    FakeCluster cluster(servers, kTables);
    CheckRoundTrip(&cluster, ConnectOrDie(cluster.options()).get(), 3);
    EXPECT_EQ(cluster.counts().parts_max, 1u);
  }
}

TEST(ClientTest, SplitsCallsBelowTheTarget) {
  FakeCluster cluster(2, kTables);
  ClientOptions options = cluster.options();
  options.call_bytes_target = 120;
  CheckRoundTrip(&cluster, ConnectOrDie(options).get(), 2);
  EXPECT_GT(cluster.counts().parts_max, 5u);
  // Names, headers and frame headers come on top of the payload.
  EXPECT_LT(cluster.counts().frame_bytes_max, 120u + 120u);
}

TEST(ClientTest, LookupGivesRowsInTheCallersOrder) {
  FakeCluster cluster(2, kTables);
  const auto client = ConnectOrDie(cluster.options());
  const std::vector<Key> keys = {9, 3, 9, kLastKey, 0, 3};
  std::vector<float> rows(keys.size() * 3);
  uint64_t initial = 0;
  ASSERT_TRUE(client->Lookup(1, keys, absl::MakeSpan(rows), &initial).ok());
  EXPECT_EQ(rows, InitialRows(1, keys));
  EXPECT_EQ(initial, 4u);
  EXPECT_EQ(cluster.counts().keys_looked_up, 4u);
  EXPECT_TRUE(cluster.rows().empty());
}

TEST(ClientTest, EmptyLookupAsksNobodyAndEmptyPushTellsEverybody) {
  FakeCluster cluster(2, kTables);
  const auto client = ConnectOrDie(cluster.options());
  EXPECT_TRUE(client->Lookup(0, {}, {}).ok());
  EXPECT_EQ(cluster.counts().lookups, 0u);
  EXPECT_TRUE(client->Push(0, 0, 0, {}, {}).ok());
  EXPECT_EQ(cluster.server(0).counts().pushes, 1u);
  EXPECT_EQ(cluster.server(1).counts().pushes, 1u);
}

TEST(ClientTest, BadArgumentsReachNobody) {
  FakeCluster cluster(2, kTables);
  const auto client = ConnectOrDie(cluster.options());
  std::vector<float> rows(8);
  EXPECT_TRUE(absl::IsInvalidArgument(client->Lookup(2, std::vector<Key>{1, 2}, absl::MakeSpan(rows))));
  EXPECT_TRUE(absl::IsInvalidArgument(client->Lookup(1, std::vector<Key>{1, 2}, absl::MakeSpan(rows))));
  rows[5] = NAN;
  const absl::Status status = client->Push(0, 1, 0, std::vector<Key>{1, 2}, rows);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("table C1, key 2"));
  EXPECT_EQ(cluster.counts().lookups + cluster.counts().pushes, 0u);
}

TEST(ClientTest, RefusedRowsAreReported) {
  FakeCluster cluster(2, kTables);
  cluster.server(OwnerOf(cluster.map(), 0, 5)).Refuse(0, 5);
  const auto client = ConnectOrDie(cluster.options());
  std::vector<KeyStatus> refused;
  ASSERT_TRUE(client->Push(0, 1, 0, std::vector<Key>{4, 5}, std::vector<float>(8, 1.0f), &refused).ok());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].key(), 5u);
  EXPECT_EQ(cluster.rows().size(), 1u);
}

TEST(ClientTest, RetriesWhatWasUnavailable) {
  FakeCluster cluster(2, kTables);
  Faults faults;
  faults.unavailable_describes = faults.unavailable_lookups = faults.unavailable_pushes = 2;
  cluster.server(1).SetFaults(faults);
  CheckRoundTrip(&cluster, ConnectOrDie(cluster.options()).get(), 1);
  EXPECT_EQ(cluster.server(1).counts().pushes, 3u);
  EXPECT_EQ(cluster.server(1).counts().lookups, 3u);
}

TEST(ClientTest, ALostAcknowledgementAppliesOnce) {
  FakeCluster cluster(2, kTables);
  Faults faults;
  faults.lost_acknowledgements = 1;
  cluster.server(0).SetFaults(faults);
  CheckRoundTrip(&cluster, ConnectOrDie(cluster.options()).get(), 2);
  EXPECT_EQ(cluster.server(0).counts().duplicates, 1u);
}

TEST(ClientTest, GivesUpOnAServerThatStaysUnavailable) {
  FakeCluster cluster(2, kTables);
  ClientOptions options = cluster.options();
  options.call_timeout = absl::Milliseconds(300);
  const auto client = ConnectOrDie(options);
  Faults faults;
  faults.unavailable_lookups = 1000;
  cluster.server(1).SetFaults(faults);
  std::vector<Key> keys(50);
  for (Key i = 0; i < keys.size(); ++i) keys[i] = i;
  std::vector<float> rows(keys.size() * 4);
  const absl::Time start = absl::Now();
  const absl::Status status = client->Lookup(0, keys, absl::MakeSpan(rows));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("server 1 at ", options.servers[1])));
  EXPECT_THAT(std::string(status.message()), HasSubstr("(try "));
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(ClientTest, NamesAServerThatIsNotThere) {
  FakeCluster cluster(2, kTables);
  ClientOptions options = cluster.options();
  cluster.StopServer(1);
  options.call_timeout = absl::Milliseconds(300);
  const absl::Time start = absl::Now();
  const absl::Status status = Client::Connect(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("server 1 at ", options.servers[1])));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not reached within 300ms"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(ClientTest, RefusesServersThatDoNotBelongTogether) {
  FakeCluster cluster(2, kTables);
  ClientOptions options = cluster.options();
  options.job_hash = 78;
  absl::Status status = Client::Connect(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("runs another job"));

  options = cluster.options();
  std::swap(options.servers[0], options.servers[1]);
  status = Client::Connect(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is server 1 of 2, expected 0 of 2"));

  options.servers.resize(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(Client::Connect(options).status()));
  options.servers.clear();
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Connect(options).status()));
}

absl::Status ConnectTo(FakeServerOptions server) {
  FakeDataService service(std::move(server));
  const auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {&service});
  if (!endpoint.ok()) return endpoint.status();
  ClientOptions options;
  options.servers = {(*endpoint)->address()};
  return Client::Connect(options).status();
}

TEST(ClientTest, TrustsNoDescription) {
  FakeServerOptions server;
  server.map = MakeShardMap(256, 1);
  server.tables = kTables;
  EXPECT_TRUE(ConnectTo(server).ok());
  FakeServerOptions bad = server;
  bad.protocol_version = kProtocolVersion + 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(ConnectTo(bad)));
  bad = server;
  bad.map.set_shard_count(0);
  EXPECT_TRUE(absl::IsInvalidArgument(ConnectTo(bad)));
  bad = server;
  bad.map.set_shard_count(kShardsMax + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(ConnectTo(bad)));
  bad = server;
  bad.tables[1].dim = kDimMax + 1;
  EXPECT_TRUE(absl::IsInvalidArgument(ConnectTo(bad)));
}

TEST(ClientTest, ThreadsMayShareIt) {
  FakeCluster cluster(2, kTables);
  const auto client = ConnectOrDie(cluster.options());
  std::vector<std::thread> threads;
  for (Key first : {0, 1000}) {
    threads.emplace_back([&client, first]() {
      std::vector<Key> keys(100);
      for (Key i = 0; i < keys.size(); ++i) keys[i] = first + i;
      for (int i = 0; i < 20; ++i) {
        std::vector<float> rows(keys.size() * 4);
        ASSERT_TRUE(client->Lookup(0, keys, absl::MakeSpan(rows)).ok());
        ASSERT_EQ(rows, InitialRows(0, keys));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir::client
