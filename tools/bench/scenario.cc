#include "tools/bench/scenario.h"

#include "absl/strings/str_cat.h"

namespace weir::tools {
namespace {

// Debian's own, which its packages of PyTorch and pandas are for.
constexpr char kPython[] = "/usr/bin/python3";

}  // namespace

std::vector<Scenario> AllScenarios(const ProgramPlaces& places) {
  // A counter of the `index`-th benchmark that `filter` matches, in the order in which the program registers them. Counters are numbers
  // beside a benchmark's name.
  const auto bench = [&places](const std::string& binary, const std::string& filter, int index, const std::string& counter) {
    return Source{{absl::StrCat(places.benches, "/", binary), absl::StrCat("--benchmark_filter=", filter), "--benchmark_format=json"},
                  absl::StrCat("/benchmarks/", index, "/", counter)};
  };
  // What is compared comes from one process where it can.
  const auto lookup = [&bench](const std::string& counter) { return bench("table_bench", "/32768/", 0, counter); };
  const auto update = [&bench](const std::string& counter) { return bench("table_bench", "/32768/", 1, counter); };
  const auto rpc = [&bench](int index, const std::string& counter) {
    return bench("rpc_bench", "^BM_Lookup/(none|sample_dct)/keys:50000/", index, counter);
  };
  const auto program = [&places](const std::string& script, const std::vector<std::string>& words, const std::string& field) {
    Source source{{kPython, absl::StrCat(places.programs, "/", script)}, absl::StrCat("/", field)};
    source.command.insert(source.command.end(), words.begin(), words.end());
    return source;
  };
  const std::vector<std::string> training = {"--weir", places.weir, "--rows", places.rows};
  return {
      {"table_lookup", "lookups in a table in memory: 20 M rows of 16, uniform keys, 32,768 a batch, 1 core", "rows/s",
       "a prefetched gather of 64-byte rows from one array as large, known indices", lookup("rows~1s"), lookup("raw"), 0.45, 0.75},
      {"table_update", "the same, rowwise Adagrad updates", "rows/s", "a prefetched read-modify-write of the same array", update("rows~1s"),
       update("raw"), 0.3, 0.5},
      {"table_memory", "memory of 20 M rows of 16 with rowwise Adagrad", "bytes/row", "weights, slot and key", update("memory~1row"),
       update("payload~1row"), 1.35, 1.15, Better::kLower},
      {"table_growth", "lookup and update of 53,248 keys in a table of 100 M rows", "ms", "in a table of 1 M rows",
       bench("growth_bench", "BM_Step", 0, "of_large"), bench("growth_bench", "BM_Step", 0, "of_small"), 2, 1.4, Better::kLower},
      {"lookup_rpc_redis", "Lookup RPC, 50,000 unique keys, client and server on a core each", "rows/s",
       "Redis MGET of as many bytes at its best shape, client and server on the same cores", rpc(0, "rows~1s"),
       program("redis_mget.py", {}, "rows_per_second"), 5, 10},
      {"lookup_rpc_bytes", "the same Lookup RPC", "rows/s", "as many calls of as many bytes through bare gRPC, heap kept",
       rpc(0, "rows~1s"), rpc(0, "grpc"), 0.5, 0.75},
      {"lookup_rpc_dct", "Lookup RPC with the DCT reply, 90 %, loopback", "rows/s", "the uncompressed Lookup RPC", rpc(1, "rows~1s"),
       rpc(0, "rows~1s"), 0.7, 1.2},
      {"training", "training the paper's DLRM from raw TSV, batch 2,048, 1 worker and 1 server on 2 cores", "samples/s",
       "PyTorch, jemalloc, the best of 1 and 2 threads, its data in tensors already",
       program("training.py", training, "samples_per_second"), program("torch_dlrm.py", {}, "samples_per_second"), 1, 2.5},
      {"dense", "forward and backward of the same model, batch 2,048, 1 core", "GFLOP/s", "a product of 1,024 x 1,024 matrices (oneDNN)",
       bench("dense_bench", "/2048/", 0, "GFLOP~1s"), bench("dense_bench", "/2048/", 0, "best_sgemm"), 0.5, 0.8},
      {"reader", "TSV file to ready batches, 1 core", "rows/s", "pandas read_csv of the same file, parsing alone",
       Source{{absl::StrCat(places.benches, "/reader_bench"), "--benchmark_filter=BM_Reader", "--benchmark_format=json",
               absl::StrCat("--rows=", places.rows)},
              "/benchmarks/0/rows~1s"},
       program("pandas_csv.py", {places.rows}, "rows_per_second"), 3, 10},
      {"link_scaling", "4 workers on links of 4 Mbit/s each", "samples/s", "4 times 1 worker",
       program("link_scaling.py", training, "four_workers"), program("link_scaling.py", training, "four_times_one"), 0.8, 0.95},
  };
}

std::string Verdict(const Scenario& scenario, double ratio) {
  const auto reaches = [&](double bar) { return scenario.better == Better::kHigher ? ratio >= bar : ratio <= bar; };
  if (reaches(scenario.aim)) return "aim met";
  return reaches(scenario.floor) ? "floor met" : "below floor";
}

}  // namespace weir::tools
