// The training loop against a real server, with a model that computes for as long as it is told: for how many steps the training thread
// waits is counted, not timed.
#include "worker/trainer.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"
#include "server/embedding_server.h"

namespace weir::worker {
namespace {

constexpr uint32_t kDim = 4;
constexpr uint32_t kSamples = 8;
constexpr uint32_t kFeatures = 26;
constexpr int64_t kSteps = 12;

class SteadySource final : public BatchSource {
 public:
  absl::Status Next(uint32_t samples_max, Batch* batch) override {
    batch->samples = samples_max;
    batch->dense.clear();
    batch->labels.assign(samples_max, 1.0f);
    batch->features.resize(kFeatures);
    for (uint32_t table = 0; table < kFeatures; ++table) {
      client::FeatureKeys& feature = batch->features[table];
      feature.table = table;
      feature.keys.resize(samples_max);
      for (Key& key : feature.keys) key = next_++ % 50;
    }
    return absl::OkStatus();
  }
  uint64_t bad_rows() const override { return 0; }

 private:
  Key next_ = 0;
};

// Knows which calls are under way.
class WatchedBags final : public client::EmbeddingBags {
 public:
  // `shows`: whether calls ever look answered.
  WatchedBags(client::EmbeddingBags* bags, bool shows) : bags_(bags), shows_(shows) {}

  bool all_answered() const {
    return std::all_of(lookups_.begin(), lookups_.end(), [](const auto* lookup) { return lookup->ready(); }) &&
           std::all_of(pushes_.begin(), pushes_.end(), [](const auto* push) { return push->ready(); });
  }

  absl::StatusOr<std::unique_ptr<client::BagsLookup>> StartLookup(int64_t step, LookupRequest::Purpose purpose, uint32_t samples,
                                                                  absl::Span<const client::FeatureKeys> features) override {
    auto lookup = bags_->StartLookup(step, purpose, samples, features);
    if (!lookup.ok()) return lookup.status();
    return std::make_unique<Lookup>(this, *std::move(lookup));
  }
  absl::StatusOr<std::unique_ptr<client::BagsPush>> StartPush(client::BagsLookup* lookup, absl::Span<const float> gradient) override {
    auto push = bags_->StartPush(static_cast<Lookup*>(lookup)->call.get(), gradient);
    if (!push.ok()) return push.status();
    return std::make_unique<Push>(this, *std::move(push));
  }
  void FollowServers() override { bags_->FollowServers(); }
  std::vector<client::CodecStats> TakeStats() override { return bags_->TakeStats(); }

 private:
  struct Lookup final : client::BagsLookup {
    Lookup(WatchedBags* of, std::unique_ptr<client::BagsLookup> made) : bags(of), call(std::move(made)) {
      bags->lookups_.insert(call.get());
    }
    ~Lookup() override { bags->lookups_.erase(call.get()); }
    absl::Status Wait(absl::Span<float> pooled) override { return call->Wait(pooled); }
    bool ready() const override { return bags->shows_ && call->ready(); }
    WatchedBags* const bags;
    const std::unique_ptr<client::BagsLookup> call;
  };
  struct Push final : client::BagsPush {
    Push(WatchedBags* of, std::unique_ptr<client::BagsPush> made) : bags(of), call(std::move(made)) { bags->pushes_.insert(call.get()); }
    ~Push() override { bags->pushes_.erase(call.get()); }
    absl::Status Wait() override { return call->Wait(); }
    bool ready() const override { return bags->shows_ && call->ready(); }
    WatchedBags* const bags;
    const std::unique_ptr<client::BagsPush> call;
  };

  client::EmbeddingBags* const bags_;
  const bool shows_;
  std::set<client::BagsLookup*> lookups_;
  std::set<client::BagsPush*> pushes_;
};

// Computes longer than communication takes, in one of the halves of backward: until every call has its answer.
enum class Computes { kBeforePush, kAfterPush };

class BusyModel final : public DenseModel {
 public:
  BusyModel(const WatchedBags* bags, Computes computes) : bags_(bags), computes_(computes) {}
  void Forward(uint32_t, absl::Span<const float>, absl::Span<const float>, absl::Span<float> logits) override {
    std::fill(logits.begin(), logits.end(), 0.0f);
  }
  void BackwardToPooled(absl::Span<const float>, absl::Span<float> pooled_gradient) override {
    std::fill(pooled_gradient.begin(), pooled_gradient.end(), 1.0f);
    if (computes_ == Computes::kBeforePush) Compute();
  }
  void FinishBackward() override {
    if (computes_ == Computes::kAfterPush) Compute();
    TellGradientsReady(0);
  }
  absl::Span<float> parameters() override { return absl::MakeSpan(parameters_); }
  absl::Span<float> gradients() override { return absl::MakeSpan(gradients_); }
  void VisitState(StateVisitor*) override {}
  const std::vector<ParameterSlice>& layers() const override { return layers_; }

 private:
  void Compute() {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (!bags_->all_answered()) ASSERT_LT(absl::Now(), deadline) << "a call is not answered while the model computes";
  }

  const WatchedBags* const bags_;
  const Computes computes_;
  std::vector<float> parameters_ = {0}, gradients_ = {0};
  const std::vector<ParameterSlice> layers_ = {{"all", 0, 1}};
};

class LoneReducer final : public DenseReducer {
 public:
  absl::StatusOr<uint64_t> Reduce(int64_t, uint32_t samples, absl::Span<float>) override { return samples; }
  bool waits() override { return false; }
  std::vector<client::CodecStats> TakeStats() override { return {}; }
};

struct Case {
  std::string training;  // YAML
  Computes computes;
  bool shows = true;
};

StepWaits WaitsOf(const Case& of) {
  const std::string text = absl::StrCat("data: {train: [a.tsv]}\nembeddings: {dim: ", kDim, "}\ntraining: {batch_size: ", kSamples,
                                        ", steps_max: ", kSteps, ", ", of.training, "}\ncluster: {servers: 1, workers: 1}\n");
  const Job job = ParseJob(text, "job.yaml", {}).value();
  server::EmbeddingServer server;
  client::ClientOptions options;
  options.job_hash = JobHash(job);
  EXPECT_TRUE(server.Start({job, options.job_hash}).ok());
  const auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {server.service()}).value();
  options.servers = {endpoint->address()};
  const auto client = client::Client::Connect(options).value();
  const auto bags = client::EmbeddingBags::Create(client.get(), {kDim, job.compression()}).value();
  WatchedBags watched(bags.get(), of.shows);
  BusyModel model(&watched, of.computes);
  SteadySource source;
  LoneReducer reducer;
  const auto optimizer = CreateDenseOptimizer(job.model().optimizer(), 1).value();
  Progress progress;
  Trainer trainer({&source, &watched, &model, optimizer.get(), &reducer, &progress}, {0, 1, kDim, job.training()});
  const absl::Status status = trainer.Run();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(progress.steps(), kSteps);
  return progress.step_waits();
}

// Nothing can be ahead of the first lookup; nothing computes beside the push of the last step.
void ExpectNoWaits(const StepWaits& waits) {
  EXPECT_LE(waits.lookup(), 1u);
  EXPECT_LE(waits.push(), 1u);
  EXPECT_EQ(waits.reduce(), 0u);
}

TEST(TrainerTest, NothingWaitsWhereComputeExceedsCommunication) {
  ExpectNoWaits(WaitsOf({"staleness: 1, prefetch: 1", Computes::kBeforePush}));
  ExpectNoWaits(WaitsOf({"staleness: 3, prefetch: 3", Computes::kBeforePush}));
}

// A synchronous step's lookup needs the push before it: what is computed after the push covers both.
TEST(TrainerTest, NothingWaitsInSynchronousTrainingEitherWhenTheRestOfBackwardIsLongEnough) {
  ExpectNoWaits(WaitsOf({"staleness: 0, prefetch: 1", Computes::kAfterPush}));
}

TEST(TrainerTest, EveryWaitIsCounted) {
  const StepWaits waits = WaitsOf({"staleness: 0, prefetch: 1", Computes::kAfterPush, false});
  EXPECT_EQ(waits.lookup(), kSteps);
  EXPECT_EQ(waits.push(), kSteps);
}

}  // namespace
}  // namespace weir::worker
