#include "client/embedding_bags.h"

#include <cmath>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_data_service.h"
#include "tests/client/scalar_bags.h"

namespace weir::client {
namespace {

using testing::HasSubstr;

constexpr uint32_t kDim = 5;
const std::vector<TableInfo> kTables = {{"C1", kDim}, {"C2", kDim}, {"C3", kDim}};

struct Case {
  std::string name;
  Compression::Method lookup;
  Compression::Method push;
  double sparsity = 0;  // of the lookup with dct, of the push otherwise
  uint32_t servers = 2;
  size_t call_bytes_target = kCallBytesTarget;
  Compression::Values values = Compression::VALUES_FP32;  // of a push with dct
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

Compression CompressionOf(const Case& of) {
  Compression compression;
  compression.mutable_lookup()->set_method(of.lookup);
  compression.mutable_push()->set_refresh_every(1);
  compression.mutable_push()->set_values(of.values);
  if (of.lookup == Compression::METHOD_DCT) {
    compression.mutable_lookup()->set_scope(Compression::SCOPE_SAMPLE);
    compression.mutable_lookup()->set_sparsity(of.sparsity);
  } else {
    compression.mutable_push()->set_method(of.push);
    compression.mutable_push()->set_sparsity(of.sparsity);
  }
  return compression;
}

// A cluster of fakes, and bags on it.
struct Rig {
  explicit Rig(const Case& of) : cluster(of.servers, kTables) {
    ClientOptions options = cluster.options();
    options.call_bytes_target = of.call_bytes_target;
    client = Client::Connect(options).value();
    bags = EmbeddingBags::Create(client.get(), {kDim, CompressionOf(of)}).value();
  }

  FakeCluster cluster;
  std::unique_ptr<Client> client;
  std::unique_ptr<EmbeddingBags> bags;
};

// One training step against the scalar truth; the gradient is drawn, or given.
absl::Status TrainStep(int64_t step, const std::vector<FeatureKeys>& features, uint32_t samples, const std::vector<float>& gradient,
                       EmbeddingBags* bags, std::vector<float>* pooled) {
  auto lookup = bags->StartLookup(step, LookupRequest::PURPOSE_TRAIN, samples, features);
  if (!lookup.ok()) return lookup.status();
  pooled->assign(samples * features.size() * kDim, NAN);
  if (absl::Status status = (*lookup)->Wait(absl::MakeSpan(*pooled)); !status.ok()) return status;
  auto push = bags->StartPush(lookup->get(), gradient);
  if (!push.ok()) return push.status();
  return (*push)->Wait();
}

class MethodTest : public testing::TestWithParam<Case> {};

TEST_P(MethodTest, StepsEqualTheScalarModel) {
  Rig rig(GetParam());
  ScalarBags truth(kDim, rig.cluster.map());
  const double sample_sparsity = GetParam().lookup == Compression::METHOD_DCT ? GetParam().sparsity : -1;
  std::mt19937_64 random(2);
  for (int64_t step = 0; step < 4; ++step) {
    const uint32_t samples = step == 2 ? 1 : 40;
    const std::vector<FeatureKeys> features = DrawFeatures(samples, &random);
    const std::vector<float> gradient = DrawGradient(samples * features.size() * kDim, &random);
    std::vector<float> pooled;
    const absl::Status status = TrainStep(step, features, samples, gradient, rig.bags.get(), &pooled);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(pooled, truth.Pool(samples, features, sample_sparsity)) << "step " << step;
    truth.AddGradients(samples, features, gradient, sample_sparsity);
    truth.Update(1);
    for (uint32_t server = 0; server < GetParam().servers; ++server) {
      EXPECT_EQ(rig.cluster.server(server).complete_steps().count(step), 1u);
    }
    EXPECT_EQ(truth.Differences(rig.cluster.rows()), "");
  }
  const FakeCounts counts = rig.cluster.counts();
  EXPECT_EQ(counts.parts_max > 1, GetParam().call_bytes_target < kCallBytesTarget);
  EXPECT_EQ(counts.pushes_with_ticket > 0, GetParam().lookup != Compression::METHOD_PLAIN);
}

TEST_P(MethodTest, EvaluationEqualsTheScalarModelAndLeavesNothing) {
  Rig rig(GetParam());
  ScalarBags truth(kDim, rig.cluster.map());
  std::mt19937_64 random(3);
  const std::vector<FeatureKeys> features = DrawFeatures(30, &random);
  auto lookup = rig.bags->StartLookup(0, LookupRequest::PURPOSE_EVALUATE, 30, features);
  ASSERT_TRUE(lookup.ok()) << lookup.status();
  std::vector<float> pooled(30 * features.size() * kDim);
  ASSERT_TRUE((*lookup)->Wait(absl::MakeSpan(pooled)).ok());
  EXPECT_EQ(pooled, truth.Pool(30, features, GetParam().lookup == Compression::METHOD_DCT ? GetParam().sparsity : -1));
  EXPECT_TRUE(absl::IsInvalidArgument(rig.bags->StartPush(lookup->get(), pooled).status()));
  EXPECT_EQ(rig.cluster.counts().pushes, 0u);
}

TEST_P(MethodTest, AWorkerWithoutDataPushesOneEmptyPartToEveryServer) {
  Rig rig(GetParam());
  auto lookup = rig.bags->StartLookup(5, LookupRequest::PURPOSE_TRAIN, 0, {});
  ASSERT_TRUE(lookup.ok()) << lookup.status();
  ASSERT_TRUE((*lookup)->Wait({}).ok());
  auto push = rig.bags->StartPush(lookup->get(), {});
  ASSERT_TRUE(push.ok()) << push.status();
  ASSERT_TRUE((*push)->Wait().ok());
  EXPECT_EQ(rig.cluster.counts().lookups, 0u);
  EXPECT_EQ(rig.cluster.counts().pushes, GetParam().servers);
  EXPECT_EQ(rig.cluster.server(GetParam().servers - 1).complete_steps(), std::set<int64_t>{5});
}

TEST_P(MethodTest, LookupsMayRunAhead) {
  Rig rig(GetParam());
  std::mt19937_64 random(4);
  std::vector<std::vector<FeatureKeys>> batches;
  std::vector<std::unique_ptr<BagsLookup>> lookups;
  for (int64_t step = 0; step < 3; ++step) {
    batches.push_back(DrawFeatures(20, &random));
    lookups.push_back(rig.bags->StartLookup(step, LookupRequest::PURPOSE_TRAIN, 20, batches.back()).value());
  }
  ScalarBags truth(kDim, rig.cluster.map());
  const double sample_sparsity = GetParam().lookup == Compression::METHOD_DCT ? GetParam().sparsity : -1;
  // The fake knows no staleness bound: all of them see the initial rows.
  for (int64_t step = 0; step < 2; ++step) {
    std::vector<float> pooled(20 * batches[step].size() * kDim);
    ASSERT_TRUE(lookups[step]->Wait(absl::MakeSpan(pooled)).ok());
    EXPECT_EQ(pooled, truth.Pool(20, batches[step], sample_sparsity));
  }
  // The last one is dropped without a wait.
}

TEST_P(MethodTest, FaultsChangeNothing) {
  Rig rig(GetParam());
  Rig faulty(GetParam());
  Faults faults;
  faults.unavailable_lookups = faults.unavailable_pushes = faults.lost_acknowledgements = faults.lost_tickets = 1;
  faulty.cluster.server(0).SetFaults(faults);
  std::mt19937_64 random(6);
  for (int64_t step = 0; step < 3; ++step) {
    const std::vector<FeatureKeys> features = DrawFeatures(40, &random);
    const std::vector<float> gradient = DrawGradient(40 * features.size() * kDim, &random);
    std::vector<float> pooled, faulty_pooled;
    ASSERT_TRUE(TrainStep(step, features, 40, gradient, rig.bags.get(), &pooled).ok());
    const absl::Status status = TrainStep(step, features, 40, gradient, faulty.bags.get(), &faulty_pooled);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(pooled, faulty_pooled);
  }
  EXPECT_EQ(rig.cluster.rows(), faulty.cluster.rows());
  const FakeCounts counts = faulty.cluster.counts();
  EXPECT_GE(counts.duplicates, 1u);
  // One for each fault; plain has no tickets to lose.
  EXPECT_EQ(counts.pushes, rig.cluster.counts().pushes + (GetParam().lookup == Compression::METHOD_PLAIN ? 2 : 3));
}

TEST_P(MethodTest, ANonFiniteGradientIsRefusedAndNamed) {
  Rig rig(GetParam());
  std::mt19937_64 random(8);
  const std::vector<FeatureKeys> features = DrawFeatures(10, &random);
  std::vector<float> gradient(10 * features.size() * kDim, NAN);
  std::vector<float> pooled;
  const absl::Status status = TrainStep(0, features, 10, gradient, rig.bags.get(), &pooled);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().lookup == Compression::METHOD_DCT ? "gradient of sample" : ", key "));
  EXPECT_EQ(rig.cluster.counts().pushes, 0u);
}

constexpr size_t kSmallCalls = 200;
INSTANTIATE_TEST_SUITE_P(Methods, MethodTest,
                         testing::Values(Case{"plain", Compression::METHOD_PLAIN, Compression::METHOD_PLAIN},
                                         Case{"plain_split", Compression::METHOD_PLAIN, Compression::METHOD_PLAIN, 0, 3, kSmallCalls},
                                         Case{"none", Compression::METHOD_NONE, Compression::METHOD_NONE},
                                         Case{"none_one_server", Compression::METHOD_NONE, Compression::METHOD_NONE, 0, 1},
                                         Case{"none_split", Compression::METHOD_NONE, Compression::METHOD_NONE, 0, 2, kSmallCalls},
                                         Case{"fp16", Compression::METHOD_FP16, Compression::METHOD_FP16},
                                         Case{"fp16_split", Compression::METHOD_FP16, Compression::METHOD_DCT, 0, 3, kSmallCalls},
                                         Case{"bf16", Compression::METHOD_BF16, Compression::METHOD_BF16},
                                         Case{"int8", Compression::METHOD_INT8_ROWWISE, Compression::METHOD_NONE},
                                         Case{"dct", Compression::METHOD_NONE, Compression::METHOD_DCT, 0},
                                         Case{"sample_0", Compression::METHOD_DCT, Compression::METHOD_NONE, 0},
                                         Case{"sample_75", Compression::METHOD_DCT, Compression::METHOD_NONE, 0.75},
                                         Case{"sample_90_one_server", Compression::METHOD_DCT, Compression::METHOD_NONE, 0.9, 1},
                                         Case{"sample_75_split", Compression::METHOD_DCT, Compression::METHOD_NONE, 0.75, 3, kSmallCalls}),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// Sends zero gradients for the same rows until every residual has left; what then lies on the servers is all that was ever pushed.
// What servers count of a table decides on its bound (client/lookup_policy.h), in a job whose tables are all alike at first.
TEST(ErrorBoundedTest, TablesGetTheirClass) {
  FakeCluster cluster(2, kTables);
  const std::unique_ptr<Client> client = Client::Connect(cluster.options()).value();
  Compression compression;
  compression.mutable_lookup()->set_method(Compression::METHOD_ERROR_BOUNDED);
  compression.mutable_lookup()->set_error_bound(0.03);
  compression.mutable_lookup()->set_classes(Compression::CLASSES_MEASURED);
  compression.mutable_push()->set_method(Compression::METHOD_NONE);
  const std::unique_ptr<EmbeddingBags> bags = EmbeddingBags::Create(client.get(), {kDim, compression}).value();
  std::mt19937_64 random(12);
  const std::vector<FeatureKeys> features = DrawFeatures(40, &random);
  const std::vector<float> gradient(40 * features.size() * kDim, 0.0f);
  std::vector<float> pooled;
  for (int64_t step = 0; step < 66; ++step) {
    ASSERT_TRUE(TrainStep(step, features, 40, gradient, bags.get(), &pooled).ok());
    const std::map<uint32_t, double> bounds = cluster.counts().error_bounds;
    ASSERT_GT(bounds.size(), 1u);
    for (const auto& [table, bound] : bounds) {
      EXPECT_NEAR(bound, step <= 48 ? 0.03 : table % 2 == 0 ? 0.01 : 0.05, 1e-12) << "table " << table << " at step " << step;
    }
  }
}

void Drain(int64_t step, const std::vector<FeatureKeys>& features, uint32_t samples, EmbeddingBags* bags) {
  const std::vector<float> zeros(samples * features.size() * kDim, 0.0f);
  std::vector<float> pooled;
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(TrainStep(step + i, features, samples, zeros, bags, &pooled).ok());
}

class DctPushTest : public testing::TestWithParam<Compression::Values> {
 protected:
  static Case TheCase() {
    Case of = {"dct", Compression::METHOD_NONE, Compression::METHOD_DCT, 0.8};
    of.values = GetParam();
    return of;
  }
};

INSTANTIATE_TEST_SUITE_P(Values, DctPushTest,
                         testing::Values(Compression::VALUES_FP32, Compression::VALUES_FP16, Compression::VALUES_INT8,
                                         Compression::VALUES_FP8),
                         [](const auto& info) { return Compression::Values_Name(info.param); });

TEST_P(DctPushTest, ResidualsLeaveOnlyWithTheAcknowledgement) {
  Rig rig(TheCase());
  ScalarBags truth(kDim, rig.cluster.map());
  std::mt19937_64 random(9);
  const std::vector<FeatureKeys> features = DrawFeatures(40, &random);
  std::vector<float> pooled;
  for (int64_t step = 0; step < 4; ++step) {
    const std::vector<float> gradient = DrawGradient(40 * features.size() * kDim, &random);
    if (step == 2) {
      // Both servers refuse, so that nothing of this push is anywhere but in the residuals.
      Faults faults;
      faults.rejected_step = step;
      for (const uint32_t server : {0, 1}) rig.cluster.server(server).SetFaults(faults);
      const absl::Status status = TrainStep(step, features, 40, gradient, rig.bags.get(), &pooled);
      EXPECT_TRUE(absl::IsInvalidArgument(status));
      EXPECT_THAT(std::string(status.message()), HasSubstr("server "));
    } else {
      ASSERT_TRUE(TrainStep(step, features, 40, gradient, rig.bags.get(), &pooled).ok());
    }
    truth.AddGradients(40, features, gradient, -1);
    truth.Update(1);
    EXPECT_NE(truth.Differences(rig.cluster.rows()), "");
  }
  Drain(100, features, 40, rig.bags.get());
  EXPECT_EQ(truth.Differences(rig.cluster.rows()), "");
}

TEST_P(DctPushTest, APushThatIsDroppedStaysInTheResiduals) {
  Rig rig(TheCase());
  ScalarBags truth(kDim, rig.cluster.map());
  std::mt19937_64 random(10);
  const std::vector<FeatureKeys> features = DrawFeatures(40, &random);
  const std::vector<float> gradient = DrawGradient(40 * features.size() * kDim, &random);
  Faults faults;
  faults.unavailable_pushes = 1000;
  for (const uint32_t server : {0, 1}) rig.cluster.server(server).SetFaults(faults);
  {
    auto lookup = rig.bags->StartLookup(0, LookupRequest::PURPOSE_TRAIN, 40, features).value();
    std::vector<float> pooled(40 * features.size() * kDim);
    ASSERT_TRUE(lookup->Wait(absl::MakeSpan(pooled)).ok());
    ASSERT_TRUE(rig.bags->StartPush(lookup.get(), gradient).ok());
  }
  for (const uint32_t server : {0, 1}) rig.cluster.server(server).SetFaults(Faults());
  truth.AddGradients(40, features, gradient, -1);
  truth.Update(1);
  Drain(100, features, 40, rig.bags.get());
  EXPECT_EQ(truth.Differences(rig.cluster.rows()), "");
}

// A gradient that is not finite is refused before anything has changed: the residuals go on as if it had never been.
TEST_P(DctPushTest, ResidualsNeverMeetNaN) {
  Rig rig(TheCase());
  Rig twin(TheCase());
  std::mt19937_64 random(11);
  const std::vector<FeatureKeys> features = DrawFeatures(40, &random);
  std::vector<float> pooled;
  for (int64_t step = 0; step < 6; ++step) {
    const std::vector<float> gradient = DrawGradient(40 * features.size() * kDim, &random);
    if (step == 3) {
      std::vector<float> spoiled = gradient;
      for (size_t i = 0; i < spoiled.size(); i += 7) spoiled[i] = i % 2 == 0 ? NAN : INFINITY;
      EXPECT_TRUE(absl::IsInvalidArgument(TrainStep(step, features, 40, spoiled, rig.bags.get(), &pooled)));
    }
    ASSERT_TRUE(TrainStep(step, features, 40, gradient, rig.bags.get(), &pooled).ok());
    ASSERT_TRUE(TrainStep(step, features, 40, gradient, twin.bags.get(), &pooled).ok());
    ASSERT_EQ(rig.cluster.rows(), twin.cluster.rows()) << "step " << step;
  }
}

TEST(DctPushZeroTest, SparsityZeroIsBitIdenticalToNone) {
  Rig none({"none", Compression::METHOD_NONE, Compression::METHOD_NONE});
  Rig dct({"dct", Compression::METHOD_NONE, Compression::METHOD_DCT, 0});
  std::mt19937_64 random(12);
  std::normal_distribution<float> normal(0, 1e-3f);
  for (int64_t step = 0; step < 5; ++step) {
    const std::vector<FeatureKeys> features = DrawFeatures(40, &random);
    std::vector<float> gradient(40 * features.size() * kDim);
    for (float& value : gradient) value = normal(random);
    std::vector<float> none_pooled, dct_pooled;
    ASSERT_TRUE(TrainStep(step, features, 40, gradient, none.bags.get(), &none_pooled).ok());
    ASSERT_TRUE(TrainStep(step, features, 40, gradient, dct.bags.get(), &dct_pooled).ok());
    EXPECT_EQ(none_pooled, dct_pooled);
  }
  EXPECT_EQ(none.cluster.rows(), dct.cluster.rows());
}

std::vector<CodecStats> PushStats(EmbeddingBags* bags) {
  std::vector<CodecStats> taken;
  for (CodecStats& stats : bags->TakeStats()) {
    if (stats.edge == "push") taken.push_back(std::move(stats));
  }
  return taken;
}

TEST(StatsTest, AreGivenOnceForEachTable) {
  Rig rig({"dct", Compression::METHOD_NONE, Compression::METHOD_DCT, 0.5});
  std::mt19937_64 random(13);
  const std::vector<FeatureKeys> features = DrawFeatures(40, &random);
  std::vector<float> pooled;
  const std::vector<float> gradient = DrawGradient(40 * features.size() * kDim, &random);
  ASSERT_TRUE(TrainStep(0, features, 40, gradient, rig.bags.get(), &pooled).ok());
  const uint64_t once = PushStats(rig.bags.get())[0].stats.entries;
  for (const int64_t step : {1, 2}) ASSERT_TRUE(TrainStep(step, features, 40, gradient, rig.bags.get(), &pooled).ok());
  const std::vector<CodecStats> stats = PushStats(rig.bags.get());
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].name, "C1");
  EXPECT_EQ(stats[1].name, "C2");
  EXPECT_EQ(stats[0].stats.entries, 2 * once);
  EXPECT_GT(stats[0].stats.kept, 0u);
  EXPECT_LT(stats[0].stats.kept, stats[0].stats.entries);
  EXPECT_GT(stats[0].stats.threshold, 0);
  EXPECT_TRUE(rig.bags->TakeStats().empty());
}

TEST(StatsTest, SampleScopeCountsThePooledEntries) {
  Rig rig({"sample", Compression::METHOD_DCT, Compression::METHOD_NONE, 0.75});
  const std::vector<FeatureKeys> features = {{0, {1, 2, 3, 4}, {}}, {1, {5, 6, 7, 8}, {}}};
  std::vector<float> pooled;
  ASSERT_TRUE(TrainStep(0, features, 4, std::vector<float>(4 * 2 * kDim, 1.0f), rig.bags.get(), &pooled).ok());
  const std::vector<CodecStats> stats = rig.bags->TakeStats();
  ASSERT_EQ(stats.size(), 2u);  // and the push
  EXPECT_EQ(stats[0].edge, "lookup");
  EXPECT_EQ(stats[0].name, "pooled");
  EXPECT_EQ(stats[0].stats.entries, 4u * 2u * kDim);
  EXPECT_GT(stats[0].stats.kept, 0u);
  EXPECT_LT(stats[0].stats.kept, stats[0].stats.entries);
}

TEST(CreateTest, RefusesWhatItCannotDo) {
  FakeCluster cluster(1, kTables);
  const auto client = Client::Connect(cluster.options()).value();
  const auto create = [&](Compression::Method lookup, Compression::Method push) {
    Compression compression;
    compression.mutable_lookup()->set_method(lookup);
    compression.mutable_push()->set_method(push);
    return EmbeddingBags::Create(client.get(), {kDim, compression}).status();
  };
  EXPECT_TRUE(create(Compression::METHOD_NONE, Compression::METHOD_FP16).ok());
  EXPECT_TRUE(create(Compression::METHOD_DCT, Compression::METHOD_UNSPECIFIED).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(create(Compression::METHOD_PLAIN, Compression::METHOD_NONE)));
  EXPECT_TRUE(absl::IsInvalidArgument(create(Compression::METHOD_NONE, Compression::METHOD_PLAIN)));
  EXPECT_TRUE(absl::IsInvalidArgument(create(Compression::METHOD_DCT, Compression::METHOD_DCT)));
  EXPECT_TRUE(absl::IsInvalidArgument(create(Compression::METHOD_UNSPECIFIED, Compression::METHOD_NONE)));
  EXPECT_TRUE(absl::IsInvalidArgument(create(Compression::METHOD_NONE, Compression::METHOD_UNSPECIFIED)));
}

}  // namespace
}  // namespace weir::client
