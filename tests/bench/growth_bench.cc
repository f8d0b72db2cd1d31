// What a step of one batch costs a server's table, lookup and update, as the table grows a hundredfold: 53,248 keys (26 features of 2,048
// samples), half of them among the hottest 100,000 rows, the others anywhere. Two tables of the same kind take turns, 1 million and 100
// million rows of 16 weights under rowwise Adagrad (9 GB). Processor time of one thread. Counters: milliseconds of a step (of_small,
// of_large), and of_large over of_small (growth).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <random>
#include <unordered_set>
#include <vector>

#include "absl/types/span.h"
#include "base/key.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"
#include "tests/bench/filled_table.h"

namespace weir::server {
namespace {

constexpr uint64_t kSmall = 1'000'000;
constexpr uint64_t kLarge = 100'000'000;
constexpr size_t kBatch = 26 * 2048;
constexpr uint64_t kHot = 100'000;

// Distinct, as those of one call are.
std::vector<Key> DrawKeys(uint64_t rows, std::mt19937_64* random) {
  std::unordered_set<uint64_t> drawn;
  while (drawn.size() < kBatch) drawn.insert((*random)() % (drawn.size() < kBatch / 2 ? kHot : rows));
  std::vector<Key> keys;
  for (const uint64_t row : drawn) keys.push_back(FilledKey(row));
  return keys;
}

void BM_Step(benchmark::State& state) {
  SlabArena arena;
  const auto small = FilledTable(kSmall, &arena), large = FilledTable(kLarge, &arena);
  std::mt19937_64 random(1);
  std::vector<float> rows(kBatch * kFilledDim);
  const std::vector<float> gradients(rows.size(), 1e-3f);
  const auto step = [&](Table* table, uint64_t table_rows) {
    const std::vector<Key> keys = DrawKeys(table_rows, &random);
    const double start = ThreadSeconds();
    if (*table->Lookup(keys, absl::MakeSpan(rows)) != 0) std::abort();
    table->Apply(keys, gradients, {1});
    return ThreadSeconds() - start;
  };
  double of_small = 0, of_large = 0;
  for (auto _ : state) {
    of_small += step(small.get(), kSmall);
    const double seconds = step(large.get(), kLarge);
    of_large += seconds;
    state.SetIterationTime(seconds);
  }
  const auto milliseconds = [&state](double seconds) { return 1e3 * seconds / static_cast<double>(state.iterations()); };
  state.counters["of_small"] = milliseconds(of_small);
  state.counters["of_large"] = milliseconds(of_large);
  state.counters["growth"] = of_large / of_small;
}
BENCHMARK(BM_Step)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(50);

}  // namespace
}  // namespace weir::server

BENCHMARK_MAIN();
