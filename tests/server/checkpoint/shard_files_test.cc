#include "server/checkpoint/shard_files.h"

#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/small_job.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

using ::testing::HasSubstr;

struct Servers {
  uint32_t count = 1;
  uint32_t shards = 8;
};

Job JobOf(uint32_t shards, uint32_t dim = 3) {
  SmallJob small;
  small.shards = shards;
  small.dim = dim;
  small.optimizer = Optimizer::TYPE_ADAM;
  return small.Make();
}

std::vector<std::unique_ptr<TableRegistry>> MakeServers(const Servers& servers, uint32_t dim = 3) {
  std::vector<std::unique_ptr<TableRegistry>> made;
  for (uint32_t i = 0; i < servers.count; ++i) made.push_back(TableRegistry::Create(JobOf(servers.shards, dim), i, servers.count).value());
  return made;
}

// Gradients for keys of two tables, each on the server that owns it.
void Train(const std::vector<std::unique_ptr<TableRegistry>>& servers, Key keys) {
  for (const uint32_t index : {0u, 5u}) {
    for (const auto& tables : servers) {
      Table& table = tables->at(index);
      for (Key key = 0; key < keys; ++key) {
        const std::vector<float> gradient(table.dim(), static_cast<float>(key % 7) - 3);
        if (table.CheckOwned({&key, 1}).ok()) table.Apply({&key, 1}, gradient, StepScales());
      }
    }
  }
}

uint64_t FingerprintOf(const std::vector<std::unique_ptr<TableRegistry>>& servers) {
  uint64_t sum = 0;
  for (const auto& tables : servers) sum += tables->Fingerprint();
  return sum;
}

CheckpointManifest Save(const std::vector<std::unique_ptr<TableRegistry>>& servers, std::string* folder) {
  CheckpointManifest manifest;
  for (size_t i = 0; i < servers.size(); ++i) {
    const std::string path = testing::WriteFile(absl::StrCat("server-", i), "");
    *folder = path.substr(0, path.rfind('/'));
    FreezeShards(*servers[i]);
    const auto saved = SaveShards(*servers[i], path);
    EXPECT_TRUE(saved.ok()) << saved.status();
    *manifest.add_servers() = *saved;
  }
  return manifest;
}

TEST(ShardFilesTest, RowsComeBackOnAnyNumberOfServersAndShards) {
  const auto saved = MakeServers({2, 8});
  Train(saved, 1000);
  std::string folder;
  const CheckpointManifest manifest = Save(saved, &folder);
  EXPECT_EQ(manifest.servers(0).tables(0).rows() + manifest.servers(1).tables(0).rows(), 1000);
  for (const Servers& then : {Servers{1, 8}, Servers{2, 8}, Servers{3, 8}, Servers{2, 64}, Servers{8, 9}}) {
    const auto restored = MakeServers(then);
    for (const auto& tables : restored) ASSERT_EQ(RestoreShards(manifest, folder, *tables), absl::OkStatus());
    EXPECT_EQ(FingerprintOf(restored), FingerprintOf(saved)) << then.count << " servers, " << then.shards << " shards";
    // And they learn on as the others do.
    const auto undisturbed = MakeServers({1, 8});
    Train(undisturbed, 1000);
    Train(undisturbed, 1500);
    Train(restored, 1500);
    EXPECT_EQ(FingerprintOf(restored), FingerprintOf(undisturbed));
  }
}

TEST(ShardFilesTest, RowsThatAreThereAreReplaced) {
  const auto saved = MakeServers({1, 8});
  Train(saved, 100);
  std::string folder;
  const CheckpointManifest manifest = Save(saved, &folder);
  const uint64_t fingerprint = FingerprintOf(saved);
  Train(saved, 100);
  ASSERT_NE(FingerprintOf(saved), fingerprint);
  ASSERT_EQ(RestoreShards(manifest, folder, *saved[0]), absl::OkStatus());
  EXPECT_EQ(FingerprintOf(saved), fingerprint);
}

TEST(ShardFilesTest, RowsOfAnotherShapeAreRefused) {
  const auto saved = MakeServers({1, 8});
  Train(saved, 10);
  std::string folder;
  const CheckpointManifest manifest = Save(saved, &folder);
  const absl::Status status = RestoreShards(manifest, folder, *MakeServers({1, 8}, 4)[0]);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("table C1: rows of 3 weights"));
}

TEST(ShardFilesTest, AnotherFileUnderTheSameNameIsSeen) {
  const auto saved = MakeServers({1, 8});
  Train(saved, 10);
  std::string folder;
  CheckpointManifest manifest = Save(saved, &folder);
  manifest.mutable_servers(0)->mutable_file()->set_checksum(1);
  const absl::Status status = RestoreShards(manifest, folder, *saved[0]);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("their checksums differ"));
}

TEST(ShardFilesTest, RowsAreSavedAsTheyWereWhenTheyWereFrozen) {
  const auto servers = MakeServers({1, 8});
  Train(servers, 1000);
  const uint64_t fingerprint = FingerprintOf(servers);
  FreezeShards(*servers[0]);
  // Rows change, more than once, and new ones make their stores grow.
  Train(servers, 3000);
  Train(servers, 2000);
  const std::string path = testing::WriteFile("server-0", "");
  CheckpointManifest manifest;
  *manifest.add_servers() = SaveShards(*servers[0], path).value();
  const auto restored = MakeServers({1, 8});
  ASSERT_EQ(RestoreShards(manifest, path.substr(0, path.rfind('/')), *restored[0]), absl::OkStatus()) << path;
  EXPECT_EQ(FingerprintOf(restored), fingerprint);
  // Nothing is frozen any more: the next one has what came since.
  std::string folder;
  const CheckpointManifest next = Save(servers, &folder);
  const auto later = MakeServers({1, 8});
  ASSERT_EQ(RestoreShards(next, folder, *later[0]), absl::OkStatus());
  EXPECT_EQ(FingerprintOf(later), FingerprintOf(servers));
}

// For ThreadSanitizer, too: pushes and lookups on threads of their own, while one checkpoint after the other is written.
TEST(ShardFilesTest, PushesAndLookupsGoOnMeanwhile) {
  const auto servers = MakeServers({1, 8});
  Train(servers, 500);
  Table& table = servers[0]->at(0);
  std::atomic<bool> ending{false};
  std::thread reader([&] {
    std::vector<Key> keys(300);
    std::iota(keys.begin(), keys.end(), Key{0});
    std::vector<float> rows(keys.size() * table.dim());
    while (!ending) EXPECT_TRUE(table.Lookup(keys, absl::MakeSpan(rows)).ok());
  });
  for (Key round = 0; round < 10; ++round) {
    const uint64_t fingerprint = FingerprintOf(servers);
    FreezeShards(*servers[0]);
    std::thread pusher([&] { Train(servers, 500 + 200 * round); });
    const std::string path = testing::WriteFile("server-0", "");
    CheckpointManifest manifest;
    *manifest.add_servers() = SaveShards(*servers[0], path).value();
    pusher.join();
    const auto restored = MakeServers({1, 8});
    ASSERT_EQ(RestoreShards(manifest, path.substr(0, path.rfind('/')), *restored[0]), absl::OkStatus());
    EXPECT_EQ(FingerprintOf(restored), fingerprint) << round;
  }
  ending = true;
  reader.join();
}

TEST(ShardFilesTest, AFullDiskIsNamed) {
  EXPECT_THAT(std::string(SaveShards(*MakeServers({1, 8})[0], "/dev/full").status().message()), HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace weir::server
