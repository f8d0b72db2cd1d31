#include "worker/evaluator.h"

#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace weir::worker {
namespace {

// Batches of the given sizes; sample i of all has the label i % 2.
class CountedSource final : public BatchSource {
 public:
  explicit CountedSource(uint32_t samples) : left_(samples) {}
  absl::Status Next(uint32_t samples_max, Batch* batch) override {
    batch->samples = std::min(samples_max, left_);
    left_ -= batch->samples;
    batch->dense.assign(batch->samples, 0);
    batch->labels.clear();
    for (uint32_t i = 0; i < batch->samples; ++i) batch->labels.push_back(static_cast<float>(next_++ % 2));
    batch->features.resize(1);
    return absl::OkStatus();
  }
  uint64_t bad_rows() const override { return 0; }

 private:
  uint32_t left_;
  uint32_t next_ = 0;
};

// Pooled vectors of ones; refuses to be trained.
class OnesBags final : public client::EmbeddingBags {
 public:
  absl::StatusOr<std::unique_ptr<client::BagsLookup>> StartLookup(int64_t, LookupRequest::Purpose purpose, uint32_t,
                                                                  absl::Span<const client::FeatureKeys>) override {
    EXPECT_EQ(purpose, LookupRequest::PURPOSE_EVALUATE);
    return std::make_unique<Lookup>();
  }
  absl::StatusOr<std::unique_ptr<client::BagsPush>> StartPush(client::BagsLookup*, absl::Span<const float>) override {
    return absl::InternalError("evaluation pushes");
  }
  void FollowServers() override {}
  std::vector<client::CodecStats> TakeStats() override { return {}; }

 private:
  class Lookup final : public client::BagsLookup {
   public:
    absl::Status Wait(absl::Span<float> pooled) override {
      std::fill(pooled.begin(), pooled.end(), 1.0f);
      return absl::OkStatus();
    }
    bool ready() const override { return true; }
  };
};

// logit = sum of the sample's pooled vector.
class SumModel final : public DenseModel {
 public:
  void Forward(uint32_t samples, absl::Span<const float>, absl::Span<const float> pooled, absl::Span<float> logits) override {
    for (uint32_t i = 0; i < samples; ++i) logits[i] = pooled[2 * i] + pooled[2 * i + 1];
  }
  void BackwardToPooled(absl::Span<const float>, absl::Span<float>) override { ADD_FAILURE() << "evaluation trains"; }
  void FinishBackward() override {}
  absl::Span<float> parameters() override { return {}; }
  absl::Span<float> gradients() override { return {}; }
  void VisitState(StateVisitor*) override {}
  const std::vector<ParameterSlice>& layers() const override { return layers_; }

 private:
  const std::vector<ParameterSlice> layers_;
};

TEST(EvaluatorTest, ReportsEveryRowOnce) {
  CountedSource source(25);
  OnesBags bags;
  SumModel model;
  std::vector<float> scores;
  std::vector<uint8_t> labels;
  const absl::Status status = Evaluate({&source, &bags, &model,
                                        [&](absl::Span<const float> s, absl::Span<const uint8_t> l) {
                                          EXPECT_LE(s.size(), 10u);
                                          scores.insert(scores.end(), s.begin(), s.end());
                                          labels.insert(labels.end(), l.begin(), l.end());
                                          return absl::OkStatus();
                                        }},
                                       2, 10);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(scores.size(), 25u);
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_FLOAT_EQ(scores[i], 1 / (1 + std::exp(-2.0f)));
    EXPECT_EQ(labels[i], i % 2);
  }
}

TEST(EvaluatorTest, AnErrorOfTheReportEndsIt) {
  CountedSource source(25);
  OnesBags bags;
  SumModel model;
  int calls = 0;
  const absl::Status status = Evaluate({&source, &bags, &model,
                                        [&calls](absl::Span<const float>, absl::Span<const uint8_t>) {
                                          ++calls;
                                          return absl::UnavailableError("coordinator is gone");
                                        }},
                                       2, 10);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace weir::worker
