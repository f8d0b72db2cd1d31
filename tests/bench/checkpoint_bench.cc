// What a server's table pays while a checkpoint of it is being written: steps of one batch, lookup and update, alternately undisturbed and
// beside the thread that writes what was frozen before the step (2 million rows of 16 weights under rowwise Adagrad, 152 MB). 53,248 keys a
// step as in growth_bench. Wall time. Counters: milliseconds of a step alone (alone) and of one meanwhile (meanwhile), the second over the
// first (slower), milliseconds to freeze (freeze), and megabytes a second that were written (MB/s).
//
// A worker computes most of a step, so its steps are slowed down by less.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "absl/time/clock.h"
#include "base/key.h"
#include "proto/job.pb.h"
#include "server/checkpoint/shard_files.h"
#include "server/table/table_registry.h"
#include "tests/bench/filled_table.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

constexpr uint64_t kRows = 2'000'000;
constexpr size_t kBatch = 26 * 2048;
constexpr uint64_t kHot = 100'000;

std::vector<Key> DrawKeys(std::mt19937_64* random) {
  std::unordered_set<uint64_t> drawn;
  while (drawn.size() < kBatch) drawn.insert((*random)() % (drawn.size() < kBatch / 2 ? kHot : kRows));
  std::vector<Key> keys;
  for (const uint64_t row : drawn) keys.push_back(FilledKey(row));
  return keys;
}

void BM_StepWhileSaving(benchmark::State& state) {
  SmallJob job;
  job.dim = kFilledDim;
  job.shards = 64;
  job.optimizer = Optimizer::TYPE_ROWWISE_ADAGRAD;
  const auto tables = TableRegistry::Create(job.Make(), 0, 1).value();
  Table* const table = &tables->at(0);
  for (uint64_t row = 0; row < kRows; row += kBatch) {
    std::vector<Key> keys;
    for (uint64_t i = row; i < std::min(kRows, row + kBatch); ++i) keys.push_back(FilledKey(i));
    table->Apply(keys, std::vector<float>(keys.size() * kFilledDim, 0.1f), {1});
  }
  const std::string path = std::filesystem::temp_directory_path() / "checkpoint_bench.state";
  std::mt19937_64 random(1);
  std::vector<float> rows(kBatch * kFilledDim);
  const std::vector<float> gradients(rows.size(), 1e-3f);
  const auto step = [&] {
    const std::vector<Key> keys = DrawKeys(&random);
    const absl::Time start = absl::Now();
    if (*table->Lookup(keys, absl::MakeSpan(rows)) != 0) std::abort();
    table->Apply(keys, gradients, {1});
    return absl::Now() - start;
  };
  absl::Duration alone, meanwhile, freezing, writing;
  int64_t steps_alone = 0, steps_meanwhile = 0;
  uint64_t bytes = 0;
  for (auto _ : state) {
    const absl::Time start = absl::Now();
    FreezeShards(*tables);
    freezing += absl::Now() - start;
    std::atomic<bool> saved{false};
    std::thread writer([&] {
      bytes += SaveShards(*tables, path).value().file().bytes();
      saved = true;
    });
    absl::Duration of_saving;
    while (!saved) {
      of_saving += step();
      ++steps_meanwhile;
    }
    writer.join();
    meanwhile += of_saving;
    writing += absl::Now() - start;
    for (int i = 0; i < 5; ++i) alone += step();
    steps_alone += 5;
    state.SetIterationTime(absl::ToDoubleSeconds(of_saving));
  }
  std::filesystem::remove(path);
  const double of_alone = absl::ToDoubleMilliseconds(alone) / static_cast<double>(steps_alone);
  const double of_meanwhile = absl::ToDoubleMilliseconds(meanwhile) / static_cast<double>(steps_meanwhile);
  state.counters["alone"] = of_alone;
  state.counters["meanwhile"] = of_meanwhile;
  state.counters["slower"] = of_meanwhile / of_alone;
  state.counters["freeze"] = absl::ToDoubleMilliseconds(freezing) / static_cast<double>(state.iterations());
  state.counters["MB/s"] = static_cast<double>(bytes) / 1e6 / absl::ToDoubleSeconds(writing);
}
BENCHMARK(BM_StepWhileSaving)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(10);

}  // namespace
}  // namespace weir::server

BENCHMARK_MAIN();
