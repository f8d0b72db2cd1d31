// What a lookup and an update cost besides memory traffic, counted: allocations and locks. A golden: when a number grows, it is to be on
// purpose.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"
#include "tests/bench/filled_table.h"

namespace {

std::atomic<uint64_t> allocations{0}, locks{0};

}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return lock(mutex);
}

namespace weir::server {
namespace {

struct Counts {
  uint64_t allocations = 0;
  uint64_t locks = 0;
};

template <typename Work>
Counts CountOf(Work work) {
  const Counts before = {allocations, locks};
  work();
  return {allocations - before.allocations, locks - before.locks};
}

TEST(HotPathTest, AllocationsAndLocksOfACall) {
  constexpr size_t kKeys = 50000;  // 13 blocks of 4,096 keys
  SlabArena arena;
  const std::unique_ptr<Table> table = FilledTable(kKeys, &arena);
  std::vector<Key> keys;
  for (uint64_t row = 0; row < kKeys; ++row) keys.push_back(FilledKey(row));
  std::vector<float> rows(kKeys * kFilledDim);
  const std::vector<float> gradients(rows.size(), 1e-3f);

  const Counts lookup = CountOf([&] { ASSERT_EQ(*table->Lookup(keys, absl::MakeSpan(rows)), 0u); });
  const Counts update = CountOf([&] { table->Apply(keys, gradients, {1}); });
  // The block, its list of shards, and in each window the searches that go on at another page.
  EXPECT_LE(lookup.allocations, 183u);
  EXPECT_LE(update.allocations, 183u);
  // A lock serves the keys that a block has in a shard: 16 of 4,096 with 256 shards, and a shard may be cut by a window's end.
  EXPECT_LE(lookup.locks, 3355u);
  EXPECT_LE(update.locks, 3355u);
}

}  // namespace
}  // namespace weir::server
