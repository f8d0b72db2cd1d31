// What a random row costs by the lines and pages that it touches: why keys and rows share a page of 4 KiB (DECISIONS 25). Random places in
// 1.7 GB of huge pages; the first line of a place is prefetched 32 places ahead, the others when it is there, 16 ahead; all are read and
// the last one is copied out. Processor time of one thread.
//   BM_SamePage/N   N lines of the same 4 KiB
//   BM_OtherPage    a line, and one of another page
// Counter: nanoseconds of a place.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/bench/filled_table.h"
#include "tests/bench/huge_array.h"

namespace weir {
namespace {

constexpr size_t kBytes = size_t{1700} << 20;
constexpr size_t kPage = 4096;
constexpr size_t kLine = 64;
constexpr size_t kPlaces = 1 << 20;
constexpr size_t kFirstAhead = 32, kOthersAhead = 16;
constexpr size_t kLinesMax = 3;

struct Place {
  const char* lines[kLinesMax];
};

// Different lines of one page; or, with `other_page`, the second one anywhere.
std::vector<Place> DrawPlaces(const char* memory, bool other_page) {
  std::mt19937_64 random(1);
  std::vector<Place> places(kPlaces);
  for (Place& place : places) {
    const char* const page = memory + random() % (kBytes / kPage) * kPage;
    const size_t first = random() % (kPage / kLine);
    for (size_t i = 0; i < kLinesMax; ++i) place.lines[i] = page + (first + i * 21) % (kPage / kLine) * kLine;
    if (other_page) place.lines[1] = memory + random() % (kBytes / kLine) * kLine;
  }
  return places;
}

void Visit(benchmark::State& state, const HugeArray* memory, size_t lines, bool other_page) {
  const std::vector<Place> places = DrawPlaces(memory->data(), other_page);
  std::vector<char> out(2048 * kLine);
  double seconds = 0;
  for (auto _ : state) {
    uint64_t sum = 0;
    const double start = server::ThreadSeconds();
    for (size_t i = 0; i + kFirstAhead < places.size(); ++i) {
      __builtin_prefetch(places[i + kFirstAhead].lines[0]);
      const Place& next = places[i + kOthersAhead];
      if (lines > 1) sum += static_cast<uint64_t>(*next.lines[0]);
      for (size_t line = 1; line < lines; ++line) __builtin_prefetch(next.lines[line]);
      for (size_t line = 1; line + 1 < lines; ++line) sum += static_cast<uint64_t>(*places[i].lines[line]);
      std::memcpy(out.data() + i % 2048 * kLine, places[i].lines[lines - 1], kLine);
    }
    const double passed = server::ThreadSeconds() - start;
    benchmark::DoNotOptimize(sum);
    benchmark::DoNotOptimize(out.data());
    seconds += passed;
    state.SetIterationTime(passed);
  }
  state.counters["ns"] = 1e9 * seconds / static_cast<double>(state.iterations()) / static_cast<double>(places.size() - kFirstAhead);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const weir::HugeArray memory(weir::kBytes);
  for (const size_t lines : {1, 2, 3}) {
    benchmark::RegisterBenchmark(("BM_SamePage/" + std::to_string(lines)).c_str(), weir::Visit, &memory, lines, false)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("BM_OtherPage", weir::Visit, &memory, 2, true)->UseManualTime()->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
