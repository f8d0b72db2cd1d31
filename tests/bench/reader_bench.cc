// A Criteo TSV file to ready batches on one core: lines parsed, categories hashed, integers through the logarithm, 2,048 samples at a time.
// The file is --rows=FILE (weir datagen makes one). Counters: rows/s, GB/s of the file.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/input_file.h"
#include "proto/job_file.h"
#include "proto/job_tables.h"
#include "worker/batch.h"
#include "worker/criteo_reader.h"
#include "worker/range_source.h"

namespace weir::worker {
namespace {

constexpr uint32_t kBatch = 2048;

std::string rows_file;
uint64_t file_rows = 0;

// The whole file, as one range.
class WholeFile final : public RangeSource {
 public:
  absl::StatusOr<NextRangeReply> Next() override {
    NextRangeReply range;
    range.set_done(given_);
    range.set_file(rows_file);
    range.set_first_line(1);
    range.set_rows(file_rows);
    given_ = true;
    return range;
  }

 private:
  bool given_ = false;
};

void BM_Reader(benchmark::State& state) {
  const absl::StatusOr<Job> job = ParseJob(absl::StrCat("data: {train: [", rows_file, "]}\n"), "reader_bench", {});
  uint64_t rows = 0;
  for (auto _ : state) {
    WholeFile range;
    CriteoReader reader(job->data(), SchemaOf(*job), &range);
    Batch batch;
    do {
      const absl::Status status = reader.Next(kBatch, &batch);
      if (!status.ok()) {
        std::fprintf(stderr, "reader_bench: %s\n", status.ToString().c_str());
        std::exit(1);
      }
      rows += batch.samples;
    } while (batch.samples == kBatch);
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsRate);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(std::filesystem::file_size(rows_file)) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Reader)->Unit(benchmark::kMillisecond)->MinTime(2);

}  // namespace
}  // namespace weir::worker

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  constexpr char kFlag[] = "--rows=";
  if (argc != 2 || !absl::StartsWith(argv[1], kFlag)) {
    std::fprintf(stderr, "usage: reader_bench --rows=FILE, Criteo TSV; weir datagen --rows 500000 --out FILE makes one\n");
    return 2;
  }
  weir::worker::rows_file = argv[1] + sizeof(kFlag) - 1;
  const absl::StatusOr<uint64_t> counted = weir::CountRows({weir::worker::rows_file});
  if (!counted.ok()) {
    std::fprintf(stderr, "reader_bench: %s\n", counted.status().ToString().c_str());
    return 1;
  }
  weir::worker::file_rows = *counted;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
