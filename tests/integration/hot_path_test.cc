// What lookups and updates cost besides memory traffic, counted: allocations, locks, and bytes copied, in the whole process. Goldens: when
// a number grows, it is to be on purpose.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/grpc_endpoint.h"
#include "base/key.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"
#include "server/embedding_server.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"
#include "tests/bench/filled_table.h"

namespace {

std::atomic<uint64_t> allocations{0}, locks{0}, copied{0};

// Of larger blocks than a row: payloads on their way from one buffer to another.
constexpr size_t kCopyBytesMin = 256;

using Copy = void* (*)(void*, const void*, size_t);

Copy NextOf(const char* name) { return reinterpret_cast<Copy>(dlsym(RTLD_NEXT, name)); }

}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return lock(mutex);
}

void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) noexcept {
  static const Copy copy = NextOf("memcpy");
  if (bytes >= kCopyBytesMin) copied += bytes;
  return copy(to, from, bytes);
}

void* memmove(void* to, const void* from, size_t bytes) noexcept {
  static const Copy copy = NextOf("memmove");
  if (bytes >= kCopyBytesMin) copied += bytes;
  return copy(to, from, bytes);
}

// What they are called where a library was built with _FORTIFY_SOURCE.
void* __memcpy_chk(void* to, const void* from, size_t bytes, size_t room) {
  if (bytes > room) std::abort();
  return memcpy(to, from, bytes);
}
void* __memmove_chk(void* to, const void* from, size_t bytes, size_t room) {
  if (bytes > room) std::abort();
  return memmove(to, from, bytes);
}

}  // extern "C"

namespace weir {
namespace {

struct Counts {
  uint64_t allocations = 0;
  uint64_t locks = 0;
  uint64_t copied = 0;
};

template <typename Work>
Counts CountOf(Work work) {
  const Counts before = {allocations, locks, copied};
  work();
  return {allocations - before.allocations, locks - before.locks, copied - before.copied};
}

TEST(HotPathTest, ATable) {
  constexpr size_t kKeys = 50000;  // 13 blocks of 4,096 keys
  server::SlabArena arena;
  const std::unique_ptr<server::Table> table = server::FilledTable(kKeys, &arena);
  std::vector<Key> keys;
  for (uint64_t row = 0; row < kKeys; ++row) keys.push_back(server::FilledKey(row));
  std::vector<float> rows(kKeys * server::kFilledDim);
  const std::vector<float> gradients(rows.size(), 1e-3f);

  const Counts lookup = CountOf([&] { ASSERT_EQ(*table->Lookup(keys, absl::MakeSpan(rows)), 0u); });
  const Counts update = CountOf([&] { table->Apply(keys, gradients, {1}); });
  // The block, its list of shards, and in each window the searches that go on at another page.
  EXPECT_LE(lookup.allocations, 183u);
  EXPECT_LE(update.allocations, 183u);
  // A lock serves the keys that a block has in a shard: 16 of 4,096 with 256 shards, and a shard may be cut by a window's end.
  EXPECT_LE(lookup.locks, 3355u);
  EXPECT_LE(update.locks, 3355u);
  // A row is copied once, by itself; what is left is the list of searches that go on.
  EXPECT_LE(lookup.copied, 100'000u);
  EXPECT_LE(update.copied, 100'000u);
}

// A step's lookup and push of the same keys, client and server together, with all that gRPC does for them. How it cuts messages and wakes
// threads varies from run to run: bounds are a quarter above what was seen.
TEST(HotPathTest, AStepThroughGrpc) {
  constexpr uint32_t kDim = 16, kKeys = 40000;  // 3 calls
  const Job job = ParseJob(
                      "data: {train: [a.tsv]}\nembeddings: {dim: 16, optimizer: {type: rowwise_adagrad, learning_rate: 0.01}}\n"
                      "training: {staleness: 0}\ncluster: {servers: 1, workers: 1}\n",
                      "job.yaml", {})
                      .value();
  server::EmbeddingServer server;
  client::ClientOptions options;
  options.job_hash = JobHash(job);
  ASSERT_TRUE(server.Start({job, options.job_hash}).ok());
  const auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {server.service()}).value();
  options.servers = {endpoint->address()};
  const auto client = client::Client::Connect(options).value();
  const auto bags = client::EmbeddingBags::Create(client.get(), {kDim, job.compression()}).value();
  std::vector<client::FeatureKeys> features(1);
  for (uint64_t row = 0; row < kKeys; ++row) features[0].keys.push_back(Mix64(row));
  std::vector<float> pooled(size_t{kKeys} * kDim);
  const std::vector<float> gradients(pooled.size(), 1e-3f);
  Counts lookups, pushes;
  for (int64_t step = 0; step < 3; ++step) {  // rows are made in the first, memory is there from the second on
    std::unique_ptr<client::BagsLookup> lookup;
    lookups = CountOf([&] {
      lookup = bags->StartLookup(step, LookupRequest::PURPOSE_TRAIN, kKeys, features).value();
      ASSERT_TRUE(lookup->Wait(absl::MakeSpan(pooled)).ok());
    });
    pushes = CountOf([&] { ASSERT_TRUE(bags->StartPush(lookup.get(), gradients).value()->Wait().ok()); });
  }
  const auto a_key = [](uint64_t count) { return static_cast<double>(count) / kKeys; };
  const auto copies = [](uint64_t bytes) { return static_cast<double>(bytes) / (kKeys * kDim * sizeof(float)); };
  EXPECT_LE(a_key(lookups.allocations), 0.0090);  // seen: 0.0071
  EXPECT_LE(a_key(lookups.locks), 0.098);         // 0.078
  EXPECT_LE(copies(lookups.copied), 1.85);        // of the rows' bytes: 1.48
  EXPECT_LE(a_key(pushes.allocations), 0.0065);   // 0.0051
  EXPECT_LE(a_key(pushes.locks), 0.083);          // 0.066
  EXPECT_LE(copies(pushes.copied), 8.0);          // 6.38
}

}  // namespace
}  // namespace weir
