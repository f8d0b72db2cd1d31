// What a step costs as work grows: one dimension at a time, the others fixed. docs/results/scaling.md has the curves, and why they run so.
//   BM_Keys, BM_Dim, BM_Shards, BM_Servers, BM_Workers   a lookup and the push of its gradients through gRPC, servers in this process;
//                  8,192 distinct keys a worker of rows that exist, dim 16, 64 shards, one server, one worker, where not said otherwise
//   BM_Tables      Table::Lookup and Table::Apply of 100,000 keys spread over that many tables
//   BM_Batch       forward and backward of the paper's DLRM for one batch
// Counter: nanoseconds of wall-clock time a key (a sample in BM_Batch), all workers together.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/grpc_endpoint.h"
#include "base/key.h"
#include "base/log.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "proto/job_file.h"
#include "proto/job_tables.h"
#include "server/embedding_server.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"
#include "worker/dense_model.h"
#include "worker/matrix.h"

namespace weir {
namespace {

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "scaling_bench: %s\n", status.ToString().c_str());
  std::abort();
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  Must(value.status());
  return *std::move(value);
}

struct Setting {
  size_t keys = 8192;
  uint32_t dim = 16;
  uint32_t shards = 64;
  uint32_t servers = 1;
  uint32_t workers = 1;
};

Job JobOf(const Setting& setting) {
  return Must(
      ParseJob(absl::StrCat("data: {train: [none.tsv]}\nembeddings: {dim: ", setting.dim,
                            ", optimizer: {type: rowwise_adagrad, learning_rate: 0.01}}\n"
                            "model: {bottom: [",
                            setting.dim, "], top: [1]}\ntraining: {staleness: 0, batch_size: ", 8192 * setting.workers,
                            "}\ncluster: {servers: ", setting.servers, ", workers: ", setting.workers, ", shards: ", setting.shards, "}\n"),
               "scaling_bench", {}));
}

// Servers, and workers that make synchronous steps on them, each on a thread of its own.
class Cluster {
 public:
  explicit Cluster(const Setting& setting) : setting_(setting), job_(JobOf(setting)) {
    client::ClientOptions options;
    options.job_hash = JobHash(job_);
    for (uint32_t index = 0; index < setting.servers; ++index) {
      servers_.push_back(std::make_unique<server::EmbeddingServer>());
      Must(servers_.back()->Start({job_, options.job_hash, index, MakeShardMap(job_.cluster().shards(), setting.servers)}));
      endpoints_.push_back(Must(GrpcEndpoint::Listen("127.0.0.1:0", {servers_.back()->service()})));
      options.servers.push_back(endpoints_.back()->address());
    }
    for (uint32_t rank = 0; rank < setting.workers; ++rank) {
      options.worker_rank = rank;
      Worker& worker = workers_.emplace_back();
      worker.client = Must(client::Client::Connect(options));
      worker.bags = Must(client::EmbeddingBags::Create(worker.client.get(), {setting.dim, job_.compression()}));
      worker.features.resize(1);
      for (size_t i = 0; i < setting.keys; ++i) worker.features[0].keys.push_back(Mix64(rank * setting.keys + i));
      worker.pooled.resize(setting.keys * setting.dim);
      worker.gradients.assign(worker.pooled.size(), 1e-3f);
    }
    Step();  // rows are made
    Step();
  }

  void Step() {
    std::vector<std::thread> threads;
    for (Worker& worker : workers_) threads.emplace_back([this, &worker] { StepOf(&worker); });
    for (std::thread& thread : threads) thread.join();
    ++step_;
  }

 private:
  struct Worker {
    std::unique_ptr<client::Client> client;
    std::unique_ptr<client::EmbeddingBags> bags;
    std::vector<client::FeatureKeys> features;
    std::vector<float> pooled, gradients;
  };

  void StepOf(Worker* worker) const {
    const auto samples = static_cast<uint32_t>(setting_.keys);
    const auto lookup = Must(worker->bags->StartLookup(step_, LookupRequest::PURPOSE_TRAIN, samples, worker->features));
    Must(lookup->Wait(absl::MakeSpan(worker->pooled)));
    Must(Must(worker->bags->StartPush(lookup.get(), worker->gradients))->Wait());
  }

  const Setting setting_;
  const Job job_;
  std::vector<std::unique_ptr<server::EmbeddingServer>> servers_;
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints_;
  std::vector<Worker> workers_;
  int64_t step_ = 0;
};

template <typename Work>
void Measure(benchmark::State& state, double units, Work work) {
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) work();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  state.counters["ns"] = 1e9 * seconds / static_cast<double>(state.iterations()) / units;
}

void MeasureCluster(benchmark::State& state, const Setting& setting) {
  Cluster cluster(setting);
  Measure(state, static_cast<double>(setting.keys) * setting.workers, [&] { cluster.Step(); });
}

void BM_Keys(benchmark::State& state) {
  Setting setting;
  setting.keys = state.range(0);
  MeasureCluster(state, setting);
}
BENCHMARK(BM_Keys)->RangeMultiplier(4)->Range(64, 262144)->UseRealTime();

void BM_Dim(benchmark::State& state) {
  Setting setting;
  setting.dim = static_cast<uint32_t>(state.range(0));
  MeasureCluster(state, setting);
}
BENCHMARK(BM_Dim)->RangeMultiplier(4)->Range(4, 256)->UseRealTime();

void BM_Shards(benchmark::State& state) {
  Setting setting;
  setting.shards = static_cast<uint32_t>(state.range(0));
  MeasureCluster(state, setting);
}
BENCHMARK(BM_Shards)->RangeMultiplier(8)->Range(1, 4096)->UseRealTime();

void BM_Servers(benchmark::State& state) {
  Setting setting;
  setting.servers = static_cast<uint32_t>(state.range(0));
  MeasureCluster(state, setting);
}
BENCHMARK(BM_Servers)->RangeMultiplier(2)->Range(1, 16)->UseRealTime();

void BM_Workers(benchmark::State& state) {
  Setting setting;
  setting.workers = static_cast<uint32_t>(state.range(0));
  MeasureCluster(state, setting);
}
BENCHMARK(BM_Workers)->RangeMultiplier(2)->Range(1, 16)->UseRealTime();

void BM_Tables(benchmark::State& state) {
  constexpr size_t kKeys = 100'000;
  const size_t count = state.range(0);
  server::SlabArena arena;
  const Job job = JobOf({});
  std::vector<std::unique_ptr<server::Table>> tables;
  for (size_t i = 0; i < count; ++i) {
    tables.push_back(Must(server::Table::Create(static_cast<uint32_t>(i), TablesOf(job)[0], 1, {0, MakeShardMap(64, 1)}, &arena)));
  }
  std::vector<Key> keys(kKeys / count);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = Mix64(i);
  std::vector<float> rows(keys.size() * tables[0]->dim());
  const std::vector<float> gradients(rows.size(), 1e-3f);
  const auto step = [&] {
    for (const auto& table : tables) {
      Must(table->Lookup(keys, absl::MakeSpan(rows)).status());
      table->Apply(keys, gradients, {1, 1});
    }
  };
  step();
  Measure(state, static_cast<double>(keys.size() * count), step);
  state.counters["bytes/row"] = static_cast<double>(arena.slab_bytes()) / static_cast<double>(keys.size() * count);
}
BENCHMARK(BM_Tables)->RangeMultiplier(10)->Range(1, 10'000)->UseRealTime();

void BM_Batch(benchmark::State& state) {
  worker::SetMatrixThreads(1);
  Model model;
  model.set_type(Model::TYPE_DLRM);
  for (const uint32_t width : {512u, 256u, 64u, 16u}) model.add_bottom(width);
  for (const uint32_t width : {512u, 256u, 1u}) model.add_top(width);
  DataSchema schema;
  schema.dense_features = 13;
  schema.sparse_features.resize(26);
  const auto dlrm = Must(worker::CreateDenseModel(model, schema, 16, 1));
  const auto samples = static_cast<uint32_t>(state.range(0));
  const std::vector<float> dense(samples * 13, 0.5f), pooled(size_t{samples} * 26 * 16, 0.25f), logit_gradient(samples, 0.1f);
  std::vector<float> logits(samples), pooled_gradient(pooled.size());
  Measure(state, samples, [&] {
    dlrm->Forward(samples, dense, pooled, absl::MakeSpan(logits));
    dlrm->Backward(logit_gradient, absl::MakeSpan(pooled_gradient));
  });
}
BENCHMARK(BM_Batch)->RangeMultiplier(4)->Range(16, 16384)->UseRealTime();

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::StartProcess("bench");
  spdlog::set_level(spdlog::level::warn);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
