// A table in memory against the bare memory under it: 20 million rows of 16 weights, batches of random keys that have a row.
//   BM_TableLookup   Table::Lookup against a prefetched gather of 64-byte rows of one array with known indices: no keys, no hash, no locks.
//   BM_TableApply    Table::Apply with rowwise Adagrad against a prefetched read-modify-write (SGD) of the same array.
// Argument: keys a batch. Processor time of one thread; the two sides take turns, so that both see the same machine. Counters: rows/s of
// the table, rows/s of the bare memory (raw), the table's share of it (of_raw); bytes of a row taken from the machine (memory/row), and of
// its weights, slots and key (payload/row).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/key.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"
#include "tests/bench/filled_table.h"
#include "tests/bench/huge_array.h"

namespace weir::server {
namespace {

constexpr uint32_t kDim = kFilledDim;
constexpr uint64_t kRows = 20'000'000;
constexpr size_t kPrefetchAhead = 16;

// One array of rows in huge pages.
class RawRows {
 public:
  RawRows() : memory_(kRows * kDim * sizeof(float)), rows_(reinterpret_cast<float*>(memory_.data())) {}

  void Gather(const std::vector<uint64_t>& indices, float* out) const {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (i + kPrefetchAhead < indices.size()) __builtin_prefetch(Row(indices[i + kPrefetchAhead]));
      std::memcpy(out + i * kDim, Row(indices[i]), kDim * sizeof(float));
    }
  }
  void Update(const std::vector<uint64_t>& indices, const float* gradients) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (i + kPrefetchAhead < indices.size()) __builtin_prefetch(Row(indices[i + kPrefetchAhead]), 1);
      float* const row = Row(indices[i]);
      for (uint32_t d = 0; d < kDim; ++d) row[d] -= 0.01f * gradients[i * kDim + d];
    }
  }

 private:
  float* Row(uint64_t index) const { return rows_ + index * kDim; }
  const HugeArray memory_;
  float* const rows_;
};

// Built once, for both benchmarks.
struct Fixture {
  SlabArena arena;
  std::unique_ptr<Table> table = FilledTable(kRows, &arena);
  RawRows raw;
};

// Distinct rows in random order, and their keys.
class Batches {
 public:
  explicit Batches(size_t size) : rows(size), keys(size), values(size * kDim, 1e-3f), order_(kRows) {
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(1));
  }
  void Next() {
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = order_[next_];
      keys[i] = FilledKey(rows[i]);
      next_ = (next_ + 1) % kRows;
    }
  }
  std::vector<uint64_t> rows;
  std::vector<Key> keys;
  std::vector<float> values;

 private:
  std::vector<uint32_t> order_;
  uint64_t next_ = 0;
};

template <typename OfTable, typename OfRaw>
void Compare(benchmark::State& state, const Fixture& fixture, OfTable of_table, OfRaw of_raw) {
  Batches batches(state.range(0));
  double in_table = 0, in_raw = 0;
  for (auto _ : state) {
    batches.Next();
    const double start = ThreadSeconds();
    of_table(&batches);
    const double seconds = ThreadSeconds() - start;
    batches.Next();  // other rows: the table has brought its own into the caches
    const double raw_start = ThreadSeconds();
    of_raw(&batches);
    in_raw += ThreadSeconds() - raw_start;
    in_table += seconds;
    state.SetIterationTime(seconds);
  }
  const double total = static_cast<double>(state.iterations()) * state.range(0);
  state.counters["rows/s"] = total / in_table;
  state.counters["raw"] = total / in_raw;
  state.counters["of_raw"] = in_raw / in_table;
  state.counters["memory/row"] = static_cast<double>(fixture.arena.slab_bytes()) / kRows;
  state.counters["payload/row"] = static_cast<double>(fixture.table->Size().payload_bytes) / kRows + sizeof(Key);
}

void Lookup(benchmark::State& state, Fixture* fixture) {
  Compare(
      state, *fixture,
      [&](Batches* batches) {
        if (*fixture->table->Lookup(batches->keys, absl::MakeSpan(batches->values)) != 0) std::abort();
      },
      [&](Batches* batches) {
        fixture->raw.Gather(batches->rows, batches->values.data());
        benchmark::DoNotOptimize(batches->values.data());
      });
}

void Apply(benchmark::State& state, Fixture* fixture) {
  Compare(
      state, *fixture, [&](Batches* batches) { fixture->table->Apply(batches->keys, batches->values, {1}); },
      [&](Batches* batches) { fixture->raw.Update(batches->rows, batches->values.data()); });
}

}  // namespace
}  // namespace weir::server

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto fixture = std::make_unique<weir::server::Fixture>();
  for (const auto& [name, run] : {std::pair{"BM_TableLookup", weir::server::Lookup}, std::pair{"BM_TableApply", weir::server::Apply}}) {
    benchmark::RegisterBenchmark(name, run, fixture.get())->Arg(128)->Arg(2048)->Arg(32768)->UseManualTime()->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
