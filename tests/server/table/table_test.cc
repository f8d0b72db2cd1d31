#include "server/table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/table/table_registry.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

constexpr uint32_t kIndex = 4;
constexpr uint64_t kSeed = 7;

struct TableSetup {
  uint32_t dim = 3;
  Optimizer::Type optimizer = Optimizer::TYPE_SGD;
  double epsilon = 1e-6;
  ShardPlace place{0, MakeShardMap(8, 1)};
};

std::unique_ptr<Table> Make(const TableSetup& setup, SlabArena* arena) {
  const Job job = SmallJob().Make();
  TableSpec spec;
  spec.name = "C5";
  spec.dim = setup.dim;
  spec.optimizer = job.embeddings().optimizer();
  spec.optimizer.set_type(setup.optimizer);
  spec.optimizer.set_epsilon(setup.epsilon);
  spec.initializer = job.embeddings().initializer();
  return *Table::Create(kIndex, spec, kSeed, setup.place, arena);
}

float InitialValue(Key key, uint32_t i) { return static_cast<float>(0.5 * (2 * KeyedUniform(Mix64(Mix64(kSeed, kIndex), key), i) - 1)); }

std::vector<float> Lookup(const Table& table, const std::vector<Key>& keys, uint32_t* initial = nullptr) {
  std::vector<float> rows(keys.size() * table.dim());
  const uint32_t missing = *table.Lookup(keys, absl::MakeSpan(rows));
  if (initial != nullptr) *initial = missing;
  return rows;
}

// std::map twin: SGD at rate 1 from the initial value.
class Twin {
 public:
  explicit Twin(uint32_t dim) : dim_(dim) {}
  std::vector<float> Row(Key key) const {
    const auto it = rows_.find(key);
    if (it != rows_.end()) return it->second;
    std::vector<float> row(dim_);
    for (uint32_t i = 0; i < dim_; ++i) row[i] = InitialValue(key, i);
    return row;
  }
  bool has(Key key) const { return rows_.count(key) == 1; }
  size_t rows() const { return rows_.size(); }
  void Apply(Key key, const float* gradient, float scale) {
    std::vector<float> row = Row(key);
    for (uint32_t i = 0; i < dim_; ++i) row[i] -= gradient[i] * scale;
    rows_[key] = row;
  }

 private:
  const uint32_t dim_;
  std::map<Key, std::vector<float>> rows_;
};

TEST(TableTest, AgreesWithAMapUnderRandomOperations) {
  for (uint32_t shards : {1u, 8u, 257u}) {
    SlabArena arena;
    TableSetup setup;
    setup.place.map = MakeShardMap(shards, 1);
    const std::unique_ptr<Table> table = Make(setup, &arena);
    Twin twin(table->dim());
    std::mt19937_64 random(shards);
    for (int round = 0; round < 100; ++round) {
      std::vector<Key> keys;
      for (size_t i = random() % 300; i > 0; --i) keys.push_back(random() % 2 == 0 ? random() % 500 : ~(random() % 500));
      uint32_t initial = 0, twin_initial = 0;
      const std::vector<float> rows = Lookup(*table, keys, &initial);
      for (size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(std::vector<float>(rows.begin() + i * 3, rows.begin() + i * 3 + 3), twin.Row(keys[i]));
        twin_initial += twin.has(keys[i]) ? 0 : 1;
      }
      ASSERT_EQ(initial, twin_initial);
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      std::shuffle(keys.begin(), keys.end(), random);
      std::vector<float> gradients(keys.size() * 3);
      for (float& g : gradients) g = static_cast<float>(random() % 100) * 0.01f;
      table->Apply(keys, gradients, {0.5f});
      for (size_t i = 0; i < keys.size(); ++i) twin.Apply(keys[i], &gradients[i * 3], 0.5f);
      ASSERT_EQ(table->Size().rows, twin.rows());
    }
  }
}

TEST(TableTest, LookupCreatesNothing) {
  SlabArena arena;
  const std::unique_ptr<Table> table = Make({}, &arena);
  uint32_t initial = 0;
  const std::vector<float> rows = Lookup(*table, {0, ~Key{0}, 0, 42}, &initial);
  EXPECT_EQ(initial, 4u);
  EXPECT_EQ(rows[0], InitialValue(0, 0));
  EXPECT_EQ(rows[5], InitialValue(~Key{0}, 2));
  EXPECT_EQ(rows[6], rows[0]);
  EXPECT_EQ(table->Size().rows, 0u);
  EXPECT_EQ(table->Fingerprint(), 0u);
}

// For every optimizer: asking what a step would do is doing it on a copy.
TEST(TableTest, WhatIfIsWhatApplyDoesAndChangesNothing) {
  for (const Optimizer::Type type : {Optimizer::TYPE_SGD, Optimizer::TYPE_ADAGRAD, Optimizer::TYPE_ROWWISE_ADAGRAD, Optimizer::TYPE_ADAM}) {
    SlabArena arena;
    TableSetup setup;
    setup.optimizer = type;
    const std::unique_ptr<Table> table = Make(setup, &arena);
    const std::vector<Key> keys = {9, 2, 77, ~Key{0}};
    table->Apply({2, 9}, {1, -2, 3, 0.5f, 0.25f, -1}, {1});
    const std::vector<float> before = Lookup(*table, keys);
    const uint64_t fingerprint = table->Fingerprint();
    // The last one's gradient is zero: such a row is not touched, as a push does not touch it.
    const std::vector<float> gradients = {1, 2, -3, 0, 0.5f, 0, -1, -1, 4, 0, 0, 0};
    std::vector<float> what_if(before.size());
    ASSERT_TRUE(table->LookupWhatIf(keys, gradients, {0.5f, 0.25f}, absl::MakeSpan(what_if)).ok());
    EXPECT_EQ(table->Fingerprint(), fingerprint) << type;
    EXPECT_EQ(Lookup(*table, keys), before) << type;
    EXPECT_EQ(table->Size().rows, 2u) << type;
    table->Apply(absl::MakeConstSpan(keys).first(3), absl::MakeConstSpan(gradients).first(9), {0.5f, 0.25f});
    EXPECT_EQ(what_if, Lookup(*table, keys)) << type;
    EXPECT_NE(what_if, before) << type;
  }
}

TEST(TableTest, EmptyAndAllEqualBatches) {
  SlabArena arena;
  const std::unique_ptr<Table> table = Make({}, &arena);
  EXPECT_TRUE(Lookup(*table, {}).empty());
  table->Apply({}, {}, {1});
  table->Apply({9}, {1, 2, 3}, {1});
  const std::vector<float> rows = Lookup(*table, std::vector<Key>(1000, 9));
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], InitialValue(9, i % 3) - static_cast<float>(i % 3 + 1));
}

// Shards move between tables as between servers: after every step each key has one owner, and its row is there.
TEST(TableTest, ShardsMoveWithTheirRows) {
  constexpr uint32_t kShards = 13;
  SlabArena arena;
  TableSetup setup;
  setup.optimizer = Optimizer::TYPE_ADAGRAD;
  std::vector<std::unique_ptr<Table>> servers;
  for (uint32_t server = 0; server < 3; ++server) {
    setup.place = {server, MakeShardMap(kShards, 2)};
    servers.push_back(Make(setup, &arena));
  }
  setup.place = {0, MakeShardMap(kShards, 1)};
  const std::unique_ptr<Table> whole = Make(setup, &arena);
  std::mt19937_64 random(3);
  std::vector<Key> keys;
  for (int i = 0; i < 500; ++i) keys.push_back(random() % 100000);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const std::vector<float> gradients(keys.size() * 3, 0.25f);
  whole->Apply(keys, gradients, {1});
  ShardMap map = MakeShardMap(kShards, 2);
  for (const Key key : keys) servers[OwnerOf(map, kIndex, key)]->Apply({key}, {0.25f, 0.25f, 0.25f}, {1});
  const size_t memory = arena.slab_bytes();
  for (int times = 0; times < 20; ++times) {
    const ShardMap before = map;
    if (map.next_servers() == 0) map.set_next_servers(map.servers() == 2 ? 3 : 2);
    map.set_moved(std::min(kShards, map.moved() + 4));
    RowBatch rows;
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      if (OwnerOf(before, shard) == OwnerOf(map, shard)) continue;
      servers[OwnerOf(before, shard)]->CopyRows(shard, &rows);
      servers[OwnerOf(map, shard)]->ReceiveRows(rows);
    }
    if (map.moved() == kShards) map = MakeShardMap(kShards, map.next_servers());
    for (const auto& server : servers) server->GainShards(map);
    for (const auto& server : servers) server->DropShards(map);
    uint64_t fingerprint = 0, count = 0;
    for (const auto& server : servers) {
      fingerprint += server->Fingerprint();
      count += server->Size().rows;
    }
    ASSERT_EQ(fingerprint, whole->Fingerprint()) << ToString(map);
    ASSERT_EQ(count, keys.size());
    for (const Key key : keys) {
      for (uint32_t server = 0; server < 3; ++server) {
        ASSERT_EQ(servers[server]->CheckOwned({key}).ok(), server == OwnerOf(map, kIndex, key)) << ToString(map);
      }
    }
  }
  EXPECT_EQ(arena.slab_bytes(), memory) << "memory of shards that left is used again";
}

TEST(TableTest, RefusesKeysOfAnotherServer) {
  SlabArena arena;
  TableSetup setup;
  setup.place = {1, MakeShardMap(8, 2)};
  const std::unique_ptr<Table> table = Make(setup, &arena);
  Key own = 0;
  while (ShardOfKey(kIndex, own, 8) < 4) ++own;
  Key foreign = 0;
  while (ShardOfKey(kIndex, foreign, 8) >= 4) ++foreign;
  EXPECT_TRUE(table->CheckOwned({own}).ok());
  std::vector<float> rows(6);
  const absl::Status status = table->Lookup({own, foreign}, absl::MakeSpan(rows)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(absl::StrCat("key ", foreign, " at 1")));
  EXPECT_EQ(table->CheckOwned({own, foreign}), status);
}

// Invariant: the fingerprint depends on neither order nor placement.
TEST(TableTest, FingerprintIsOfTheRowsAlone) {
  std::vector<Key> keys;
  for (Key key = 0; key < 500; ++key) keys.push_back(key * key);
  std::vector<float> gradients(keys.size() * 3);
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(KeyedUniform(1, i));
  SlabArena arena;
  TableSetup setup;
  setup.optimizer = Optimizer::TYPE_ROWWISE_ADAGRAD;
  const std::unique_ptr<Table> whole = Make(setup, &arena);
  whole->Apply(keys, gradients, {1});

  uint64_t sum = 0;
  for (uint32_t server = 0; server < 3; ++server) {
    TableSetup part = setup;
    part.place = {server, MakeShardMap(64, 3)};
    const std::unique_ptr<Table> table = Make(part, &arena);
    for (size_t i = keys.size(); i-- > 0;) {
      if (table->CheckOwned({keys[i]}).ok()) table->Apply({keys[i]}, absl::MakeConstSpan(gradients).subspan(i * 3, 3), {1});
    }
    sum += table->Fingerprint();
  }
  EXPECT_EQ(sum, whole->Fingerprint());

  // One bit of one row, one slot, or another key each make another fingerprint.
  const std::unique_ptr<Table> other = Make(setup, &arena);
  gradients[0] = std::nextafter(gradients[0], 2.0f);
  other->Apply(keys, gradients, {1});
  EXPECT_NE(other->Fingerprint(), whole->Fingerprint());
}

TEST(TableTest, FingerprintIsOfSlotsToo) {
  SlabArena arena;
  TableSetup setup;
  setup.optimizer = Optimizer::TYPE_ADAGRAD;
  setup.epsilon = 0;
  const std::unique_ptr<Table> one = Make(setup, &arena), two = Make(setup, &arena);
  // The first step of Adagrad is as long as its rate for every gradient; only the slots tell how large that was.
  one->Apply({1}, {1, 1, 1}, {1});
  two->Apply({1}, {4, 4, 4}, {1});
  EXPECT_EQ(Lookup(*one, {1}), Lookup(*two, {1}));
  EXPECT_NE(one->Fingerprint(), two->Fingerprint());
}

TEST(TableTest, LookupsBesideUpdatesSeeWholeRows) {
  SlabArena arena;
  TableSetup setup;
  setup.dim = 8;
  const std::unique_ptr<Table> table = Make(setup, &arena);
  std::vector<Key> keys(200);
  for (Key key = 0; key < 200; ++key) keys[key] = key;
  // Each update moves all weights of a row by one together.
  const std::vector<float> gradients(keys.size() * 8, -1.0f);
  table->Apply(keys, gradients, {1});
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) table->Apply(keys, gradients, {1});
    });
  }
  threads.emplace_back([&] {
    for (Key key = 1000; key < 3000; ++key) table->Apply({key}, absl::MakeConstSpan(gradients).first(8), {1});
  });
  for (int i = 0; i < 50; ++i) {
    const std::vector<float> rows = Lookup(*table, keys);
    for (size_t k = 0; k < keys.size(); ++k) {
      const float moved = std::round(rows[k * 8] - InitialValue(keys[k], 0));
      for (uint32_t d = 1; d < 8; ++d) ASSERT_EQ(std::round(rows[k * 8 + d] - InitialValue(keys[k], d)), moved);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::round(Lookup(*table, {5})[0] - InitialValue(5, 0)), 101);
  EXPECT_EQ(table->Size().rows, 2200u);
}

TEST(TableRegistryTest, HasTheTablesOfTheJob) {
  const auto registry = *TableRegistry::Create(SmallJob().Make(), 0, 1);
  EXPECT_EQ(registry->size(), 26u);
  EXPECT_EQ(registry->at(25).spec().name, "C26");
  EXPECT_EQ((*registry->Find(3))->index(), 3u);
  EXPECT_EQ(registry->Find(26).status().code(), absl::StatusCode::kInvalidArgument);
  registry->at(0).Apply({1, 2}, {1, 1, 1, 1}, {1});
  registry->at(1).Apply({1}, {1, 1}, {1});
  EXPECT_EQ(registry->rows(), 3u);
  EXPECT_EQ(registry->Fingerprint(), registry->at(0).Fingerprint() + registry->at(1).Fingerprint());
}

TEST(TableRegistryTest, RefusesAPlaceOrJobThatCannotBe) {
  SmallJob job;
  EXPECT_EQ(TableRegistry::Create(job.Make(), 2, 2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TableRegistry::Create(job.Make(), 0, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TableRegistry::Create(job.Make(), 0, 9).status().code(), absl::StatusCode::kInvalidArgument) << "fewer shards than servers";
  job.dim = 0;
  EXPECT_EQ(TableRegistry::Create(job.Make(), 0, 1).status().code(), absl::StatusCode::kInvalidArgument);
  job.dim = 2;
  job.optimizer = Optimizer::TYPE_UNSPECIFIED;
  EXPECT_EQ(TableRegistry::Create(job.Make(), 0, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::server
