#include "worker/quality_guard.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "base/binary_metrics.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"

namespace weir::worker {
namespace {

constexpr uint32_t kFeatures = 26;
constexpr uint32_t kSamples = 4;

// The logit is a parameter times the first dense feature, plus the sum of the pooled numbers.
class SumModel final : public DenseModel {
 public:
  void Forward(uint32_t samples, absl::Span<const float> dense, absl::Span<const float> pooled, absl::Span<float> logits) override {
    const size_t dense_width = dense.size() / samples, width = pooled.size() / samples;
    for (uint32_t i = 0; i < samples; ++i) {
      logits[i] = parameters_[0] * dense[i * dense_width];
      for (size_t j = 0; j < kFeatures; ++j) logits[i] += pooled[i * width + j];
    }
    ++forwards;
  }
  void BackwardToPooled(absl::Span<const float>, absl::Span<float>) override {}
  void FinishBackward() override {}
  absl::Span<float> parameters() override { return absl::MakeSpan(parameters_); }
  absl::Span<float> gradients() override { return absl::MakeSpan(gradients_); }
  void VisitState(StateVisitor*) override {}
  const std::vector<ParameterSlice>& layers() const override { return layers_; }

  int forwards = 0;

 private:
  std::vector<float> parameters_ = {0.5f, 7};
  std::vector<float> gradients_ = {1, 2};
  const std::vector<ParameterSlice> layers_ = {{"one", 0, 2, 1, 1}};
};

// Of samples, of which the odd ones have `value` in every feature.
std::vector<float> Pooled(uint32_t samples, float value) {
  std::vector<float> pooled(samples * kFeatures);
  for (size_t i = 0; i < pooled.size(); ++i) pooled[i] = i / kFeatures % 2 == 1 ? value : 0;
  return pooled;
}

class FakeBags final : public client::EmbeddingBags {
 public:
  absl::StatusOr<std::unique_ptr<client::BagsLookup>> StartLookup(int64_t, LookupRequest::Purpose, uint32_t,
                                                                  absl::Span<const client::FeatureKeys>) override {
    return absl::UnimplementedError("a guard probes");
  }
  absl::StatusOr<std::unique_ptr<client::BagsPush>> StartPush(client::BagsLookup*, absl::Span<const float>) override {
    return absl::UnimplementedError("a guard does not push");
  }
  void SetLookupDensityFactor(double factor) override { lookup_factors.push_back(factor); }
  void SetPushDensityFactor(double factor) override { push_factors.push_back(factor); }
  absl::StatusOr<ProbedRows> Probe(const ProbeRequest& request) override {
    EXPECT_EQ(request.features.size(), kFeatures);
    for (const client::FeatureKeys& feature : request.features) EXPECT_EQ(feature.keys.size(), request.samples);
    EXPECT_EQ(request.step_samples, 2 * kSamples);
    ++probes;
    if (!error.ok()) return error;
    return ProbedRows{Pooled(request.samples, true_value),
                      what_if_value != 0 ? Pooled(request.samples, what_if_value) : std::vector<float>()};
  }
  void FollowServers() override {}
  std::vector<client::CodecStats> TakeStats() override { return {}; }

  float true_value = 0.01f;
  float what_if_value = 0;  // 0: nothing is held back
  absl::Status error;
  int probes = 0;
  std::vector<double> lookup_factors, push_factors;
};

class FakeReducer final : public DenseReducer {
 public:
  absl::StatusOr<uint64_t> Reduce(int64_t, uint32_t, absl::Span<float>) override { return uint64_t{0}; }
  void SetDensityFactor(double factor) override { factors.push_back(factor); }
  absl::Span<const float> HeldBack() override { return held_back; }
  std::vector<client::CodecStats> TakeStats() override { return {}; }

  std::vector<float> held_back = {0, 0};
  std::vector<double> factors;
};

constexpr char kLookup[] = "lookup: {method: dct, scope: change, sparsity: 0.9, values: int8}, push: {method: none}, dense: {method: none}";
constexpr char kPush[] = "lookup: {method: none}, push: {method: dct, sparsity: 0.9}, dense: {method: none}";
constexpr char kDense[] = "lookup: {method: none}, push: {method: none}, dense: {method: dct, sparsity: 0.9}";

class QualityGuardTest : public ::testing::Test {
 protected:
  // dim 1, so that a pooled vector is a number; two workers; SGD with rate 0.5 everywhere.
  static Job JobWith(const std::string& compression) {
    const std::string text =
        "{name: t, data: {train: [rows.tsv]}, model: {bottom: [1], top: [1], optimizer: {type: sgd, learning_rate: 0.5}},"
        " embeddings: {dim: 1, optimizer: {type: sgd, learning_rate: 0.5}}, training: {batch_size: 8},"
        " compression: {guard: {bound: 0.01, probe_every: 2, probe_samples: 3, window_probes: 1}, " +
        compression + "}}";
    absl::StatusOr<Job> job = ParseJob(text, "test", {});
    EXPECT_TRUE(job.ok()) << job.status();
    return job.value_or(Job());
  }

  void Make(const std::string& compression) {
    guard_ = QualityGuard::Create(JobWith(compression), 1, Parts());
    batch_.samples = kSamples;
    batch_.labels = {1, 0, 1, 0};
    batch_.dense.assign(kSamples * 13, 0.0f);
    batch_.dense[1 * 13] = batch_.dense[3 * 13] = 1;
    batch_.features.resize(kFeatures);
    for (client::FeatureKeys& feature : batch_.features) feature.keys = {1, 2, 3, 4};
    pooled_ = Pooled(kSamples, 0.01f);
    logits_.resize(kSamples);
  }

  QualityGuardParts Parts() { return {&bags_, &model_, optimizer_.get(), &reducer_, &progress_}; }

  absl::Status Watch(int64_t step) {
    model_.Forward(kSamples, batch_.dense, pooled_, absl::MakeSpan(logits_));
    model_.forwards = 0;
    return guard_->Watch({step, &batch_, pooled_, logits_});
  }

  // Log-loss of a probe's three samples when the second one's logit is this much above the others', at the best shift: the two positives
  // share a logit, so the best prediction for each of two groups would be its label, and only the distance counts.
  static double LogLoss(double distance) {
    double least = 1e9;
    for (double shift = -10; shift < 10; shift += 0.0005) {
      least = std::min(least, (2 * LogLossOfLogit(shift, 1) + LogLossOfLogit(shift + distance, 0)) / 3);
    }
    return least;
  }

  std::vector<GuardDecision> Decisions() {
    const WorkerProgress taken = progress_.Take();
    return {taken.decisions().begin(), taken.decisions().end()};
  }

  SumModel model_;
  std::unique_ptr<DenseOptimizer> optimizer_ = *CreateDenseOptimizer(JobWith(kDense).model().optimizer(), 2);
  FakeBags bags_;
  FakeReducer reducer_;
  Progress progress_;
  Batch batch_;
  std::vector<float> pooled_, logits_;
  std::unique_ptr<QualityGuard> guard_;
};

TEST_F(QualityGuardTest, NoBoundNoGuard) {
  Job job = JobWith(kPush);
  job.mutable_compression()->mutable_guard()->set_bound(0);
  EXPECT_EQ(QualityGuard::Create(job, 0, Parts()), nullptr);
}

TEST_F(QualityGuardTest, LookupCostIsTheDifferenceToTrueRows) {
  Make(kLookup);
  EXPECT_EQ(bags_.lookup_factors, std::vector<double>({1 / (1 - 0.9)}));
  bags_.true_value = -0.02f;
  ASSERT_TRUE(Watch(0).ok());
  EXPECT_EQ(bags_.probes, 0);  // not due
  ASSERT_TRUE(Watch(1).ok());
  EXPECT_EQ(bags_.probes, 1);
  const std::vector<GuardDecision> decisions = Decisions();
  ASSERT_EQ(decisions.size(), 1);
  EXPECT_EQ(decisions[0].edge(), "lookup");
  EXPECT_EQ(decisions[0].worker_rank(), 1);
  EXPECT_EQ(decisions[0].step(), 1);
  EXPECT_NEAR(decisions[0].cost(), 1 - LogLoss(0.5 - kFeatures * 0.02) / LogLoss(0.5 + kFeatures * 0.01), 1e-5);
  EXPECT_TRUE(bags_.push_factors.empty());
  EXPECT_TRUE(reducer_.factors.empty());
}

// Beside the rows as they are, not as the worker holds them: that is the lookup's cost.
TEST_F(QualityGuardTest, PushCostIsWhatHeldBackGradientsWouldBring) {
  Make(kPush);
  bags_.true_value = 0.02f;
  bags_.what_if_value = -0.01f;
  ASSERT_TRUE(Watch(1).ok());
  const std::vector<GuardDecision> decisions = Decisions();
  ASSERT_EQ(decisions.size(), 1);
  EXPECT_EQ(decisions[0].edge(), "push");
  EXPECT_NEAR(decisions[0].cost(), 1 - LogLoss(0.5 - kFeatures * 0.01) / LogLoss(0.5 + kFeatures * 0.02), 1e-5);
}

TEST_F(QualityGuardTest, NothingHeldBackCostsNothing) {
  Make(kPush);
  ASSERT_TRUE(Watch(1).ok());
  EXPECT_EQ(Decisions()[0].cost(), 0);
}

// SGD with rate 0.5 over 8 samples of all workers; the other worker is taken to hold back as much. Parameters and gradients are left as
// they were.
TEST_F(QualityGuardTest, DenseCostIsWhatHeldBackGradientsWouldBring) {
  Make(kDense);
  reducer_.held_back = {1.6f, 0};
  ASSERT_TRUE(Watch(1).ok());
  const std::vector<GuardDecision> decisions = Decisions();
  ASSERT_EQ(decisions.size(), 1);
  EXPECT_EQ(decisions[0].edge(), "dense");
  const double now = 0.5 + kFeatures * 0.01;
  EXPECT_NEAR(decisions[0].cost(), 1 - LogLoss(now - 0.5 * 2 * 1.6 / 8) / LogLoss(now), 1e-5);
  EXPECT_EQ(model_.parameters()[0], 0.5f);
  EXPECT_EQ(model_.parameters()[1], 7);
  EXPECT_EQ(model_.gradients()[0], 1);
}

// Held back for long, a gradient of the wrong sign by now: less of it costs less.
TEST_F(QualityGuardTest, AQuarterOfADenseGradientCountsWhereItIsBetter) {
  Make(kDense);
  reducer_.held_back = {-8, 0};
  ASSERT_TRUE(Watch(1).ok());
  const double now = 0.5 + kFeatures * 0.01;
  EXPECT_NEAR(Decisions()[0].cost(), 1 - LogLoss(now + 0.25) / LogLoss(now), 1e-5);
  EXPECT_EQ(model_.forwards, 2);
}

// As its own step, with its own memory, which the probe leaves alone.
TEST_F(QualityGuardTest, AdaptiveOptimizersMoveByTheirOwnStep) {
  Make(kDense);
  Optimizer adagrad;
  adagrad.set_type(Optimizer::TYPE_ADAGRAD);
  adagrad.set_learning_rate(0.1);
  adagrad.set_epsilon(1e-10);
  adagrad.set_initial_accumulator(0);
  optimizer_ = *CreateDenseOptimizer(adagrad, 2);
  guard_ = QualityGuard::Create(JobWith(kDense), 0, Parts());
  reducer_.held_back = {3, 0};
  ASSERT_TRUE(Watch(1).ok());
  ASSERT_TRUE(Watch(3).ok());
  const double now = 0.5 + kFeatures * 0.01;
  const std::vector<GuardDecision> decisions = Decisions();
  ASSERT_EQ(decisions.size(), 2);
  for (const GuardDecision& decision : decisions) EXPECT_NEAR(decision.cost(), 1 - LogLoss(now - 0.1) / LogLoss(now), 1e-5);
}

// A move of all predictions alike is luck of the batch.
TEST_F(QualityGuardTest, TheMeanPredictionDoesNotCount) {
  Make(kPush);
  for (float& value : pooled_) value += 0.05f;
  ASSERT_TRUE(Watch(1).ok());
  EXPECT_NEAR(Decisions()[0].cost(), 0, 1e-6);
}

TEST_F(QualityGuardTest, LabelsThatAreAllAlikeAreNoTrouble) {
  Make(kDense);
  batch_.labels.assign(kSamples, 0);
  reducer_.held_back = {1, 0};
  ASSERT_TRUE(Watch(1).ok());
  EXPECT_GT(Decisions()[0].cost(), 0);
}

TEST_F(QualityGuardTest, SteersTheEdgeThatCosts) {
  Make("lookup: {method: none}, push: {method: dct, sparsity: 0.9}, dense: {method: dct, sparsity: 0.9}");
  ASSERT_TRUE(Watch(1).ok());  // nothing held back: both come down
  EXPECT_NEAR(bags_.push_factors.back(), 2.5, 1e-9);
  EXPECT_NEAR(reducer_.factors.back(), 2.5, 1e-9);
  bags_.what_if_value = -0.05f;
  ASSERT_TRUE(Watch(3).ok());
  EXPECT_NEAR(bags_.push_factors.back(), 10, 1e-9);
  EXPECT_NEAR(reducer_.factors.back(), 2.5, 1e-9);  // 1 / density steps are not over
  for (const GuardDecision& decision : Decisions()) {
    if (decision.step() != 3 || decision.edge() != "push") continue;
    EXPECT_EQ(decision.sparsity_after(), 0);
  }
}

TEST_F(QualityGuardTest, AFailedLookupEndsTheStep) {
  Make(kLookup);
  bags_.error = absl::UnavailableError("server 1 is gone");
  EXPECT_EQ(Watch(1), bags_.error);
}

TEST_F(QualityGuardTest, AWorkerWithoutDataWatchesNothing) {
  Make(kLookup);
  batch_.samples = 0;
  EXPECT_TRUE(guard_->Watch({1, &batch_, {}, {}}).ok());
  EXPECT_EQ(bags_.probes, 0);
}

}  // namespace
}  // namespace weir::worker
