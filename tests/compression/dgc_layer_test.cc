#include "compression/dgc_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "compression/topk_layer.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

using Floats = std::vector<float>;

Floats Copy(absl::Span<const float> values) { return {values.begin(), values.end()}; }

// What arrives of one step.
Floats Send(LayerCodec* layer, const Floats& gradient, uint32_t samples = 1) {
  std::vector<std::string> frames;
  const absl::Status status = layer->Encode(gradient, samples, {static_cast<uint32_t>(gradient.size())}, &frames);
  EXPECT_TRUE(status.ok()) << status;
  layer->Commit();
  Floats sent(gradient.size());
  EXPECT_TRUE(DecodeInto(frames[0], absl::MakeSpan(sent)).ok());
  return sent;
}

double Norm(const Floats& values) {
  return std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float x) { return sum + double{x} * x; }));
}

// The paper, word for word. Without masking: the velocity goes on where entries were sent.
class PaperDgc {
 public:
  PaperDgc(size_t size, double momentum, bool masks = true) : momentum_(static_cast<float>(momentum)), masks_(masks), u_(size), v_(size) {}

  Floats Send(const Floats& gradient, size_t count) {
    Floats sent(gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      u_[i] = momentum_ * u_[i] + gradient[i];
      v_[i] = v_[i] + u_[i];
    }
    std::vector<size_t> order(gradient.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::fabs(v_[a]) > std::fabs(v_[b]); });
    for (size_t i = 0; i < count; ++i) {
      std::swap(sent[order[i]], v_[order[i]]);
      if (masks_) u_[order[i]] = 0;
    }
    return sent;
  }
  const Floats& u() const { return u_; }
  const Floats& v() const { return v_; }

 private:
  const float momentum_;
  const bool masks_;
  Floats u_, v_;
};

TEST(DgcLayerTest, IsThePaper) {
  for (const double momentum : {0.0, 0.5, 0.9}) {
    for (const double sparsity : {0.5, 0.9, 0.999}) {
      DgcLayer layer(1000, 0, {sparsity, ValueType::kFp32, momentum});
      PaperDgc paper(1000, momentum);
      for (uint32_t step = 0; step < 30; ++step) {
        const Floats gradient = NormalValues(1000, step);
        ASSERT_EQ(Send(&layer, gradient), paper.Send(gradient, CountKept(1000, sparsity))) << momentum << " " << sparsity << " " << step;
        ASSERT_EQ(Copy(layer.velocity()), paper.u());
        ASSERT_EQ(Copy(layer.residual()), paper.v());
      }
    }
  }
}

// Sparsity 0, and a layer below min_elements: velocity and all, to the bit.
TEST(DgcLayerTest, WholeLayersAreMomentumSgd) {
  DgcLayer dense(500, 0, {0.0, ValueType::kFp32, 0.9});
  DgcLayer small(500, 501, {0.99, ValueType::kFp32, 0.9, 0, 10});
  Floats velocity(500), expected(500, 1.0f), with_dense = expected, with_small = expected;
  for (uint32_t step = 0; step < 50; ++step) {
    const Floats gradient = NormalValues(500, step);
    const Floats sent = Send(&dense, gradient), sent_small = Send(&small, gradient);
    for (size_t i = 0; i < 500; ++i) {
      velocity[i] = 0.9f * velocity[i] + gradient[i];
      expected[i] -= 0.01f * velocity[i];
      with_dense[i] -= 0.01f * sent[i];
      with_small[i] -= 0.01f * sent_small[i];
    }
    ASSERT_EQ(with_dense, expected) << step;
    ASSERT_EQ(with_small, expected) << step;
  }
}

TEST(DgcLayerTest, RollbackKeepsTheStepInVelocityAndResidual) {
  DgcLayer layer(100, 0, {0.9, ValueType::kFp16, 0.5});
  Send(&layer, NormalValues(100, 1));
  const Floats u = Copy(layer.velocity()), v = Copy(layer.residual()), gradient = NormalValues(100, 2);
  std::vector<std::string> frames;
  ASSERT_TRUE(layer.Encode(gradient, 1, {100}, &frames).ok());
  EXPECT_EQ(Copy(layer.velocity()), u) << "only settling changes it";
  layer.Rollback();
  for (size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(layer.velocity()[i], 0.5f * u[i] + gradient[i]);
    ASSERT_EQ(layer.residual()[i], v[i] + layer.velocity()[i]);
  }
}

TEST(DgcLayerTest, WarmupRaisesSparsityInFourParts) {
  DgcLayer layer(4096, 0, {0.999, ValueType::kFp32, 0.9, 0, 8});
  std::vector<uint64_t> kept;
  for (uint32_t step = 0; step < 10; ++step) {
    Send(&layer, NormalValues(4096, step));
    kept.push_back(layer.stats().kept);
  }
  EXPECT_EQ(kept, (std::vector<uint64_t>{1024, 1024, 256, 256, 64, 64, 16, 16, 4, 4}));
  EXPECT_EQ(layer.SparsityAt(0), 0.75);
  EXPECT_EQ(layer.SparsityAt(5), 0.984375);
  // The final value is never passed, and a schedule may be shorter than its parts, or of any length.
  EXPECT_EQ(DgcLayer(4096, 0, {0.9, ValueType::kFp32, 0.9, 0, 8}).SparsityAt(3), 0.9);
  EXPECT_EQ(DgcLayer(4096, 0, {0.999, ValueType::kFp32, 0.9, 0, 1}).SparsityAt(0), 0.75);
  EXPECT_EQ(DgcLayer(4096, 0, {0.999, ValueType::kFp32, 0.9, 0, UINT64_MAX}).SparsityAt(uint64_t{1} << 63), 0.984375);
}

TEST(DgcLayerTest, ClipsBySquareRootOfWorkersAndBySamplesBeforeTheMomentum) {
  constexpr uint32_t kWorkers = 16, kSamples = 32, kSize = 20000;
  Floats sum(kSize);
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    DgcLayer layer(kSize, 0, {0.0, ValueType::kFp32, 0.5, 0.25, 0, kWorkers});
    Floats gradient = NormalValues(kSize, worker);
    for (float& value : gradient) value *= 100;
    const Floats sent = Send(&layer, gradient, kSamples);
    EXPECT_NEAR(Norm(sent), 0.25 * 4 * kSamples, 1e-3);
    EXPECT_NEAR(layer.stats().gradient_norm, Norm(gradient), 1e-6 * Norm(gradient)) << "as it was given";
    // The second step's is clipped as well, and not what momentum makes of it.
    Floats second(kSize);
    second[0] = 1e6f;
    EXPECT_NEAR(Send(&layer, second, kSamples)[0] - 0.5f * sent[0], 0.25 * 4 * kSamples, 1e-3);
    for (size_t i = 0; i < kSize; ++i) sum[i] += sent[i] / (kWorkers * kSamples);
  }
  // Shares that agree by chance only add up to the norm that the setting names.
  EXPECT_NEAR(Norm(sum), 0.25, 0.25 * 0.05);

  // What is short enough passes untouched, and so does a worker without samples.
  DgcLayer layer(100, 0, {0.0, ValueType::kFp32, 0.0, 1e3, 0, 1});
  EXPECT_EQ(Send(&layer, NormalValues(100, 1)), NormalValues(100, 1));
  EXPECT_EQ(Send(&layer, Floats(100), 0), Floats(100));
}

// Mean loss over the last steps of descent on an ill-conditioned quadratic, with noise on the gradients. `step` answers what the model is
// moved by.
template <typename Step>
double LossAfter(const Step& step) {
  constexpr size_t kSize = 1000;
  constexpr int kSteps = 3000, kLast = 200;
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 0.1f);
  Floats w(kSize, 1.0f), gradient(kSize);
  double mean = 0;
  for (int t = 0; t < kSteps; ++t) {
    double loss = 0;
    for (size_t i = 0; i < kSize; ++i) {
      const double curvature = std::pow(10.0, -3.0 * static_cast<double>(i) / kSize);  // 1 to 0.001
      gradient[i] = static_cast<float>(curvature * w[i]) + normal(random) * static_cast<float>(curvature);
      loss += 0.5 * curvature * w[i] * w[i];
    }
    const Floats moved = step(gradient);
    for (size_t i = 0; i < kSize; ++i) w[i] -= 0.02f * moved[i];
    if (t >= kSteps - kLast) mean += loss / kLast;
  }
  return mean;
}

// The paper's ablation: at the same density, learning rate and momentum. The rate is one at which old velocity harms; at a tenth of it
// masking only slows descent.
TEST(DgcLayerTest, MomentumCorrectionAndMaskingPayOnAnIllConditionedQuadratic) {
  constexpr double kSparsity = 0.99;
  const size_t count = CountKept(1000, kSparsity);
  DgcLayer full(1000, 0, {kSparsity, ValueType::kFp32, 0.9});
  const double with_all = LossAfter([&](const Floats& gradient) { return Send(&full, gradient); });
  PaperDgc unmasked(1000, 0.9, false);
  const double without_masking = LossAfter([&](const Floats& gradient) { return unmasked.Send(gradient, count); });
  // Momentum in the optimizer, of what arrives.
  TopkLayer topk(1000, 0, {kSparsity, ValueType::kFp32});
  Floats velocity(1000);
  const double without_correction = LossAfter([&](const Floats& gradient) {
    const Floats sent = Send(&topk, gradient);
    for (size_t i = 0; i < sent.size(); ++i) velocity[i] = 0.9f * velocity[i] + sent[i];
    return velocity;
  });
  RecordProperty("loss_full", std::to_string(with_all));
  RecordProperty("loss_without_masking", std::to_string(without_masking));
  RecordProperty("loss_without_correction", std::to_string(without_correction));
  EXPECT_LT(with_all, without_masking);
  EXPECT_LT(without_masking, without_correction);
}

}  // namespace
}  // namespace weir::compression
