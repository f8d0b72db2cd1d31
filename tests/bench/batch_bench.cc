// What a step's keys and gradients cost beside the rows themselves: finding and ordering the distinct keys of a batch (KeyRouter) beside
// std::sort of the same keys, and summing two workers' pushes by key (SumByKey) beside adding arrays of that size. ns are for a key.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "base/key.h"
#include "client/key_router.h"
#include "server/table/gradient_rows.h"

namespace weir {
namespace {

constexpr uint32_t kDim = 16;

// Popular keys come often: about half of a batch are distinct.
std::vector<Key> BatchKeys(size_t size, bool hashed) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> draw(3.0 / static_cast<double>(size));
  std::vector<Key> keys(size);
  for (Key& key : keys) key = hashed ? Mix64(static_cast<uint64_t>(draw(random))) : static_cast<uint64_t>(draw(random));
  return keys;
}

double Seconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Report(benchmark::State& state, double of_ours, double of_other, double keys) {
  state.counters["ns"] = 1e9 * of_ours / keys;
  state.counters["other_ns"] = 1e9 * of_other / keys;
  state.counters["of_other"] = of_other / of_ours;
}

void BM_RouteUnique(benchmark::State& state) {
  const std::vector<Key> keys = BatchKeys(state.range(0), state.range(1) != 0);
  client::KeyRouter router(MakeShardMap(256, 2));
  client::RoutedKeys routed;
  double ours = 0, other = 0;
  std::vector<Key> sorted;
  for (auto _ : state) {
    auto begin = std::chrono::steady_clock::now();
    router.RouteUnique(0, keys, &routed);
    ours += Seconds(begin);
    sorted = keys;
    begin = std::chrono::steady_clock::now();
    std::sort(sorted.begin(), sorted.end());
    other += Seconds(begin);
  }
  Report(state, ours, other, static_cast<double>(keys.size()) * static_cast<double>(state.iterations()));
}
BENCHMARK(BM_RouteUnique)->ArgNames({"keys", "hashed"})->ArgsProduct({{128, 2048, 50000}, {0, 1}});

void BM_SumByKey(benchmark::State& state) {
  std::vector<server::GradientRows> parts(2);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (int64_t key = 0; key < state.range(0); ++key) parts[i].keys.push_back(Mix64(key + static_cast<int64_t>(i) * state.range(0) / 2));
    parts[i].gradients.assign(parts[i].keys.size() * kDim, 1.5f);
  }
  std::vector<Key> not_finite;
  double ours = 0, other = 0;
  for (auto _ : state) {
    auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(server::SumByKey(kDim, {&parts[0], &parts[1]}, &not_finite));
    ours += Seconds(begin);
    begin = std::chrono::steady_clock::now();
    std::vector<float> sum = parts[0].gradients;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += parts[1].gradients[i];
    benchmark::DoNotOptimize(sum.data());
    other += Seconds(begin);
  }
  Report(state, ours, other, 2 * static_cast<double>(state.range(0)) * static_cast<double>(state.iterations()));
}
BENCHMARK(BM_SumByKey)->ArgName("keys")->Arg(2048)->Arg(50000);

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
