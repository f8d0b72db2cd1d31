// The client against the real server: two servers and two workers, each codec beside the scalar truth.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/grpc_endpoint.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "client/server_group.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"
#include "server/embedding_server.h"
#include "tests/client/scalar_bags.h"

namespace weir::client {
namespace {

constexpr uint32_t kDim = 16;
constexpr uint32_t kServers = 2;
constexpr uint32_t kWorkers = 2;
constexpr float kRate = 0.125f;

struct Case {
  std::string name;
  std::string compression;  // YAML
  double sample_sparsity = -1;
  float tolerance = 1e-5f;
  size_t call_bytes_target = kCallBytesTarget;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

std::string JobText(const Case& of) {
  return absl::StrCat(
      "data: {train: [a.tsv]}\n"
      "embeddings: {dim: ",
      kDim, ", optimizer: {type: sgd, learning_rate: ", kRate,
      "}, initializer: {type: uniform, scale: 1}}\n"
      "training: {gradient_scale: sum, staleness: 0}\n"
      "cluster: {servers: ",
      kServers, ", workers: ", kWorkers, "}\ncompression: ", of.compression, "\n");
}

class ClientServerTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const absl::StatusOr<Job> job = ParseJob(JobText(GetParam()), "job.yaml", {});
    ASSERT_TRUE(job.ok()) << job.status();
    ClientOptions options;
    options.job_hash = JobHash(*job);
    options.call_bytes_target = GetParam().call_bytes_target;
    for (uint32_t index = 0; index < kServers; ++index) {
      servers_.push_back(std::make_unique<server::EmbeddingServer>());
      const absl::Status started = servers_.back()->Start({*job, options.job_hash, index, MakeShardMap(job->cluster().shards(), kServers)});
      ASSERT_TRUE(started.ok()) << started;
      auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {servers_.back()->service()});
      ASSERT_TRUE(endpoint.ok()) << endpoint.status();
      options.servers.push_back((*endpoint)->address());
      endpoints_.push_back(*std::move(endpoint));
    }
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
      options.worker_rank = rank;
      auto client = Client::Connect(options);
      ASSERT_TRUE(client.ok()) << client.status();
      clients_.push_back(*std::move(client));
      auto bags = EmbeddingBags::Create(clients_.back().get(), {kDim, job->compression()});
      ASSERT_TRUE(bags.ok()) << bags.status();
      bags_.push_back(*std::move(bags));
    }
    truth_ = std::make_unique<ScalarBags>(kDim, clients_[0]->servers().shard_map(), [this](uint32_t table, Key key) {
      std::vector<float>& row = initial_[{table, key}];
      if (row.empty()) row = Served(table, key);
      return row;
    });
  }

  std::vector<float> Served(uint32_t table, Key key) {
    std::vector<float> row(kDim);
    const absl::Status status = clients_[0]->Lookup(table, std::vector<Key>{key}, absl::MakeSpan(row));
    EXPECT_TRUE(status.ok()) << status;
    return row;
  }

  // What one worker does with its batch up to the push, which is left under way.
  void Work(uint32_t rank, int64_t step, uint32_t samples, const std::vector<FeatureKeys>& features) {
    auto lookup = bags_[rank]->StartLookup(step, LookupRequest::PURPOSE_TRAIN, samples, features);
    ASSERT_TRUE(lookup.ok()) << lookup.status();
    std::vector<float> pooled(samples * features.size() * kDim);
    const absl::Status answered = (*lookup)->Wait(absl::MakeSpan(pooled));
    ASSERT_TRUE(answered.ok()) << answered;
    const std::vector<float> expected = truth_->Pool(samples, features, GetParam().sample_sparsity);
    for (size_t i = 0; i < pooled.size(); ++i) ASSERT_NEAR(pooled[i], expected[i], GetParam().tolerance) << "value " << i;
    const std::vector<float> gradient = DrawGradient(pooled.size(), &random_);
    truth_->AddGradients(samples, features, gradient, GetParam().sample_sparsity);
    auto push = bags_[rank]->StartPush(lookup->get(), gradient);
    ASSERT_TRUE(push.ok()) << push.status();
    const absl::Status pushed = (*push)->Wait();
    ASSERT_TRUE(pushed.ok()) << pushed;
  }

  std::vector<std::unique_ptr<server::EmbeddingServer>> servers_;
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints_;
  std::vector<std::unique_ptr<Client>> clients_;  // one for each worker
  std::vector<std::unique_ptr<EmbeddingBags>> bags_;
  std::unique_ptr<ScalarBags> truth_;
  RowMap initial_;
  std::mt19937_64 random_{17};
};

TEST_P(ClientServerTest, StepsEqualTheScalarModel) {
  // Every row that will be touched is read before the first push: later its initial value is gone.
  for (uint32_t table : {0, 1}) {
    for (Key key = 0; key < 40; ++key) initial_[{table, key}] = Served(table, key);
  }
  initial_[{0, ~Key{0}}] = Served(0, ~Key{0});
  for (int64_t step = 0; step < 4; ++step) {
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
      // The second worker runs out of data after two steps.
      const uint32_t samples = rank == 1 && step >= 2 ? 0 : 48;
      ASSERT_NO_FATAL_FAILURE(Work(rank, step, samples, samples == 0 ? std::vector<FeatureKeys>() : DrawFeatures(samples, &random_)));
    }
    truth_->Update(kRate);
    RowMap served;
    for (const auto& [place, row] : truth_->rows()) served[place] = Served(place.first, place.second);
    ASSERT_EQ(truth_->Differences(served, GetParam().tolerance), "") << "step " << step;
    for (const auto& server : servers_) EXPECT_EQ(server->Describe().applied_step(), step);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, ClientServerTest,
    testing::Values(
        Case{"plain", "{lookup: {method: plain}, push: {method: plain}}"},
        Case{"plain_split", "{lookup: {method: plain}, push: {method: plain}}", -1, 1e-5f, 1000},
        Case{"none", "{lookup: {method: none}, push: {method: none}}"},
        Case{"none_split", "{lookup: {method: none}, push: {method: none}}", -1, 1e-5f, 1000},
        // Rows of up to 4 are rounded to 11 bits.
        Case{"fp16", "{lookup: {method: fp16}, push: {method: fp16}}", -1, 1e-2f},
        Case{"dct_0", "{lookup: {method: none}, push: {method: dct, sparsity: 0}}"},
        Case{"change_0", "{lookup: {method: dct, scope: change, sparsity: 0, values: fp32}, push: {method: none}}"},
        Case{"change_0_split", "{lookup: {method: dct, scope: change, sparsity: 0, values: fp32}, push: {method: none}}", -1, 1e-5f, 1000},
        Case{"change_0_fp16", "{lookup: {method: dct, scope: change, sparsity: 0, values: fp16}, push: {method: none}}", -1, 1e-2f},
        Case{"sample_0", "{lookup: {method: dct, sparsity: 0}}", 0}, Case{"sample_75", "{lookup: {method: dct, sparsity: 0.75}}", 0.75},
        Case{"sample_75_split", "{lookup: {method: dct, sparsity: 0.75}}", 0.75, 1e-5f, 1000}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// What a probe says would come of what is held back is what comes of it when it is sent.
class ProbeTest : public ClientServerTest {
 protected:
  void Step(uint32_t rank, int64_t step, uint32_t samples, const std::vector<FeatureKeys>& features, const std::vector<float>& gradient) {
    auto lookup = bags_[rank]->StartLookup(step, LookupRequest::PURPOSE_TRAIN, samples, features);
    ASSERT_TRUE(lookup.ok()) << lookup.status();
    std::vector<float> pooled(gradient.size());
    ASSERT_TRUE((*lookup)->Wait(absl::MakeSpan(pooled)).ok());
    auto push = bags_[rank]->StartPush(lookup->get(), gradient);
    ASSERT_TRUE(push.ok()) << push.status();
    ASSERT_TRUE((*push)->Wait().ok());
  }

  std::vector<float> ServedPooled(uint32_t samples, const std::vector<FeatureKeys>& features) {
    const auto rows = [this](uint32_t table, Key key) { return Served(table, key); };
    return ScalarBags(kDim, clients_[0]->servers().shard_map(), rows).Pool(samples, features, -1);
  }
};

TEST_P(ProbeTest, HeldBackGradientsWouldDoWhatTheyDo) {
  constexpr uint32_t kSamples = 48;
  const std::vector<FeatureKeys> features = DrawFeatures(kSamples, &random_);
  const size_t size = kSamples * features.size() * kDim;
  for (int64_t step = 0; step < 3; ++step) {
    Step(0, step, kSamples, features, DrawGradient(size, &random_));
    Step(1, step, 0, {}, {});
  }
  const auto probed = bags_[0]->Probe({3, kSamples, kSamples, features});
  ASSERT_TRUE(probed.ok()) << probed.status();
  const std::vector<float> before = ServedPooled(kSamples, features);
  ASSERT_EQ(probed->pooled.size(), size);
  for (size_t i = 0; i < size; ++i) ASSERT_NEAR(probed->pooled[i], before[i], 1e-5f) << i;

  bags_[0]->SetPushDensityFactor(10);
  Step(0, 3, kSamples, features, std::vector<float>(size, 0.0f));
  Step(1, 3, 0, {}, {});
  const std::vector<float> after = ServedPooled(kSamples, features);
  ASSERT_EQ(probed->what_if.size(), size);
  float moved = 0;
  for (size_t i = 0; i < size; ++i) {
    // Held-back gradients travelled in bf16.
    ASSERT_NEAR(probed->what_if[i], after[i], 1e-5f + std::abs(after[i] - before[i]) / 64 + 0.02f) << i;
    moved = std::max(moved, std::abs(after[i] - before[i]));
  }
  EXPECT_GT(moved, 0.1f);
  const auto empty = bags_[0]->Probe({4, kSamples, kSamples, features});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_TRUE(empty->what_if.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, ProbeTest,
    testing::Values(Case{"rows", "{lookup: {method: none}, push: {method: dct, sparsity: 0.9}}"},
                    Case{"rows_split", "{lookup: {method: none}, push: {method: dct, sparsity: 0.9}}", -1, 1e-5f, 1000},
                    Case{"change", "{lookup: {method: dct, scope: change, sparsity: 0.9}, push: {method: dct, sparsity: 0.9}}"}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// Young rows are followed closely: the density of changes begins at 1 and falls by equal ratios to the job's. A factor multiplies it.
class ChangeDensityTest : public ProbeTest {
 protected:
  static constexpr uint32_t kRows = 100;

  // The density of step `step`, in which every entry of every row has changed.
  double DensityOf(int64_t step) {
    std::vector<FeatureKeys> features(1);
    for (Key key = 0; key < kRows; ++key) features[0].keys.push_back(key);
    static_cast<void>(bags_[0]->TakeStats());
    std::vector<float> gradient(kRows * kDim);  // no two are equal
    for (float& value : gradient) value = std::normal_distribution<float>()(random_);
    Step(0, step, kRows, features, gradient);
    Step(1, step, 0, {}, {});
    for (const CodecStats& stats : bags_[0]->TakeStats()) {
      if (stats.edge == "lookup") return static_cast<double>(stats.stats.kept) / static_cast<double>(stats.stats.entries);
    }
    return -1;
  }
};

TEST_P(ChangeDensityTest, FallsOverTheWarmUp) {
  DensityOf(0);                               // new rows travel whole
  const double entry = 2.0 / (kRows * kDim);  // each of two servers rounds up, and keeps what the threshold is
  EXPECT_NEAR(DensityOf(1), std::pow(0.1, 0.25), 2 * entry);
  EXPECT_NEAR(DensityOf(2), std::pow(0.1, 0.5), 2 * entry);
  EXPECT_NEAR(DensityOf(3), std::pow(0.1, 0.75), 2 * entry);
  EXPECT_NEAR(DensityOf(4), 0.1, 2 * entry);
  EXPECT_NEAR(DensityOf(5), 0.1, 2 * entry);
  bags_[0]->SetLookupDensityFactor(4);
  EXPECT_NEAR(DensityOf(6), 0.4, 2 * entry);
  bags_[0]->SetLookupDensityFactor(40);
  EXPECT_NEAR(DensityOf(7), 1, 2 * entry);
}

INSTANTIATE_TEST_SUITE_P(Codecs, ChangeDensityTest,
                         testing::Values(Case{
                             "change",
                             "{lookup: {method: dct, scope: change, sparsity: 0.9, values: fp32, warmup_steps: 4}, push: {method: none}}"}),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace weir::client
