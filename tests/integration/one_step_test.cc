// Real servers, clients, models and reductions in one process against the scalar reference: steps of a 2-server, 2-worker job.
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/grpc_endpoint.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"
#include "proto/job_tables.h"
#include "server/embedding_server.h"
#include "tests/testing/reference_job.h"
#include "worker/dense_model.h"
#include "worker/peer_exchange.h"
#include "worker/peer_reducer.h"
#include "worker/progress.h"
#include "worker/trainer.h"

namespace weir::testing {
namespace {

constexpr uint32_t kServers = 2;
constexpr uint32_t kWorkers = 2;
constexpr uint32_t kDim = 4;
constexpr double kLearningRates[] = {0.25, 0.5, 0.375};  // of each step: 0.5 times the schedule's share

// Sparsity 0 everywhere: frames, masks and residuals are in the path and must not change a number.
constexpr char kJob[] = R"(
name: one-step
seed: 3
data: {train: [unused.tsv]}
model:
  bottom: [8, 4]
  top: [8, 1]
  optimizer: {type: sgd, learning_rate: 0.5}
embeddings:
  dim: 4
  optimizer: {type: sgd, learning_rate: 0.5}
  initializer: {type: uniform, scale: 0.5}
training:
  batch_size: 14
  deterministic: true
  schedule: {warmup_steps: 2, decay_start: 1, decay_steps: 2, final_share: 0.5}
)";

// Gives batches that lie in memory.
class GivenBatches final : public worker::BatchSource {
 public:
  explicit GivenBatches(std::vector<worker::Batch> batches) : batches_(std::move(batches)) {}
  absl::Status Next(uint32_t, worker::Batch* batch) override {
    if (next_ < batches_.size()) {
      *batch = batches_[next_++];
    } else {
      for (client::FeatureKeys& feature : batch->features) feature.keys.clear();
      batch->samples = 0;
      batch->dense.clear();
      batch->labels.clear();
    }
    return absl::OkStatus();
  }
  uint64_t bad_rows() const override { return 0; }

 private:
  const std::vector<worker::Batch> batches_;
  size_t next_ = 0;
};

// Few distinct keys, so that most repeat within a batch and across workers.
worker::Batch RandomBatch(const DataSchema& schema, uint32_t samples, std::mt19937* random) {
  worker::Batch batch;
  batch.samples = samples;
  std::normal_distribution<float> normal;
  for (uint32_t i = 0; i < samples * schema.dense_features; ++i) batch.dense.push_back(normal(*random));
  for (uint32_t i = 0; i < samples; ++i) batch.labels.push_back((*random)() % 2 == 0 ? 0.0f : 1.0f);
  for (uint32_t f = 0; f < schema.sparse_features.size(); ++f) {
    client::FeatureKeys& feature = batch.features.emplace_back();
    feature.table = f;
    for (uint32_t i = 0; i < samples; ++i) feature.keys.push_back(~Key{0} - (*random)() % 5);
  }
  return batch;
}

class OneStepTest : public ::testing::TestWithParam<std::vector<std::string>> {
 protected:
  void StartServers(const Job& job) {
    for (uint32_t i = 0; i < kServers; ++i) {
      servers_.push_back(std::make_unique<server::EmbeddingServer>());
      ASSERT_TRUE(servers_.back()->Start({job, JobHash(job), i, MakeShardMap(job.cluster().shards(), kServers)}).ok());
      endpoints_.push_back(*GrpcEndpoint::Listen("127.0.0.1:0", {servers_.back()->service()}));
    }
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
      exchanges_.push_back(std::make_unique<worker::PeerExchange>());
      endpoints_.push_back(*GrpcEndpoint::Listen("127.0.0.1:0", {exchanges_.back().get()}));
    }
  }

  std::unique_ptr<client::Client> Connect(const Job& job, uint32_t rank) {
    client::ClientOptions options;
    for (uint32_t i = 0; i < kServers; ++i) options.servers.push_back(endpoints_[i]->address());
    options.job_hash = JobHash(job);
    options.worker_rank = rank;
    return *client::Client::Connect(std::move(options));
  }

  std::unique_ptr<worker::DenseReducer> CreateReducer(const Job& job, uint32_t rank, const worker::DenseModel& model) {
    worker::PeerReducerOptions options;
    options.codec = job.compression().dense();
    options.job_hash = JobHash(job);
    options.rank = rank;
    options.timeout = absl::Seconds(20);
    for (uint32_t peer = 0; peer < kWorkers; ++peer) options.peers.push_back(endpoints_[kServers + peer]->address());
    return *worker::CreatePeerReducer(model.layers(), exchanges_[rank].get(), std::move(options));
  }

  // Trains worker `rank` on its batches; its dense parameters after them.
  std::vector<float> RunWorker(const Job& job, uint32_t rank, worker::DenseReducer* reducer, const std::vector<worker::Batch>& batches) {
    const auto client = Connect(job, rank);
    const auto bags = *client::EmbeddingBags::Create(client.get(), {kDim, job.compression()});
    const auto model = *worker::CreateDenseModel(job.model(), SchemaOf(job), kDim, job.seed());
    const auto optimizer = *worker::CreateDenseOptimizer(job.model().optimizer(), model->parameters().size());
    GivenBatches source(batches);
    worker::Progress progress;
    worker::Trainer trainer({&source, bags.get(), model.get(), optimizer.get(), reducer, &progress},
                            {rank, kWorkers, kDim, job.training()});
    const absl::Status status = trainer.Run();
    EXPECT_TRUE(status.ok()) << "worker " << rank << ": " << status;
    exchanges_[rank]->Abandon(absl::UnavailableError("done"));
    return {model->parameters().begin(), model->parameters().end()};
  }

  std::vector<std::unique_ptr<server::EmbeddingServer>> servers_;
  std::vector<std::unique_ptr<worker::PeerExchange>> exchanges_;
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints_;  // servers, then workers
};

TEST_P(OneStepTest, EqualsTheScalarReference) {
  const auto parsed = ParseJob(kJob, "one-step.yaml", GetParam());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Job& job = *parsed;
  const DataSchema schema = SchemaOf(job);
  StartServers(job);

  // Worker 1 has fewer samples, and its data ends a step earlier.
  std::mt19937 random(17);
  const std::vector<std::vector<worker::Batch>> batches = {
      {RandomBatch(schema, 7, &random), RandomBatch(schema, 7, &random), RandomBatch(schema, 3, &random)},
      {RandomBatch(schema, 7, &random), RandomBatch(schema, 5, &random)},
  };

  const auto initial = *worker::CreateDenseModel(job.model(), schema, kDim, job.seed());
  ReferenceJob reference({{schema.dense_features, 8, 4}, {8, 1}, static_cast<uint32_t>(schema.sparse_features.size()), kDim},
                         {initial->parameters().begin(), initial->parameters().end()});
  const auto reader = Connect(job, 0);
  const auto row_of = [&reader](uint32_t table, Key key) {
    std::vector<float> row(kDim);
    EXPECT_TRUE(reader->Lookup(table, {key}, absl::MakeSpan(row)).ok());
    return row;
  };
  for (uint32_t table = 0; table < schema.sparse_features.size(); ++table) {
    for (Key i = 0; i < 5; ++i) {
      const auto row = row_of(table, ~Key{0} - i);
      reference.SetRow(table, ~Key{0} - i, {row.begin(), row.end()});
    }
  }

  // Before any of them takes a step, as the barrier of a real job sees to.
  std::vector<std::unique_ptr<worker::DenseReducer>> reducers;
  for (uint32_t rank = 0; rank < kWorkers; ++rank) reducers.push_back(CreateReducer(job, rank, *initial));
  std::vector<std::vector<float>> parameters(kWorkers);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kWorkers; ++rank) {
    threads.emplace_back([&, rank] { parameters[rank] = RunWorker(job, rank, reducers[rank].get(), batches[rank]); });
  }
  for (std::thread& thread : threads) thread.join();

  reference.Step({&batches[0][0], &batches[1][0]}, kLearningRates[0]);
  reference.Step({&batches[0][1], &batches[1][1]}, kLearningRates[1]);
  reference.Step({&batches[0][2]}, kLearningRates[2]);

  EXPECT_EQ(parameters[0], parameters[1]) << "the workers' models differ";
  ASSERT_EQ(parameters[0].size(), reference.parameters().size());
  for (size_t i = 0; i < parameters[0].size(); ++i) ASSERT_NEAR(parameters[0][i], reference.parameters()[i], 2e-5) << "parameter " << i;
  for (uint32_t table = 0; table < schema.sparse_features.size(); ++table) {
    for (Key i = 0; i < 5; ++i) {
      const auto row = row_of(table, ~Key{0} - i);
      for (uint32_t d = 0; d < kDim; ++d) {
        ASSERT_NEAR(row[d], reference.row(table, ~Key{0} - i)[d], 2e-5) << "table " << table << " key " << i << " entry " << d;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, OneStepTest,
    ::testing::Values(
        std::vector<std::string>{"compression.lookup.method=none", "compression.push.method=none", "compression.dense.sparsity=0"},
        std::vector<std::string>{"compression.lookup.method=plain", "compression.push.method=plain", "compression.dense.sparsity=0"},
        std::vector<std::string>{"compression.lookup.method=none", "compression.push.sparsity=0", "compression.dense.sparsity=0"},
        std::vector<std::string>{"compression.lookup.method=dct", "compression.lookup.sparsity=0", "compression.dense.sparsity=0"},
        std::vector<std::string>{"compression.lookup={method: dct, scope: change, sparsity: 0, values: fp32}",
                                 "compression.push.sparsity=0", "compression.dense.sparsity=0"}));

}  // namespace
}  // namespace weir::testing
