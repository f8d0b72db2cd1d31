#include "worker/dense_model.h"

#include <cstring>
#include <set>

#include "tests/worker/reference.h"
#include "worker/matrix.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

struct Sizes {
  uint32_t dense_features = 3;
  uint32_t sparse_features = 4;
  uint32_t dim = 5;
  std::vector<uint32_t> bottom = {7, 5};
  std::vector<uint32_t> top = {6, 3, 1};
};

absl::StatusOr<std::unique_ptr<DenseModel>> MakeModel(const Sizes& sizes, uint64_t seed = 1) {
  Model model;
  model.set_type(Model::TYPE_DLRM);
  for (const uint32_t width : sizes.bottom) model.add_bottom(width);
  for (const uint32_t width : sizes.top) model.add_top(width);
  DataSchema schema;
  schema.dense_features = sizes.dense_features;
  schema.sparse_features.resize(sizes.sparse_features);
  return CreateDenseModel(model, schema, sizes.dim, seed);
}

Sizes PaperSizes() { return {13, 26, 16, {512, 256, 64, 16}, {512, 256, 1}}; }

struct Inputs {
  Inputs(const Sizes& sizes, uint32_t samples)
      : samples(samples),
        dense(RandomFloats(samples * sizes.dense_features, 1)),
        pooled(RandomFloats(samples * sizes.sparse_features * sizes.dim, 2)),
        logit_gradient(RandomFloats(samples, 3)) {}
  uint32_t samples;
  std::vector<float> dense;
  std::vector<float> pooled;
  std::vector<float> logit_gradient;
};

struct Step {
  std::vector<float> logits;
  std::vector<float> pooled_gradient;
  std::vector<float> gradients;
};

Step RunStep(DenseModel* model, const Inputs& inputs) {
  Step step;
  step.logits.resize(inputs.samples);
  step.pooled_gradient.resize(inputs.pooled.size());
  model->Forward(inputs.samples, inputs.dense, inputs.pooled, absl::MakeSpan(step.logits));
  model->Backward(inputs.logit_gradient, absl::MakeSpan(step.pooled_gradient));
  step.gradients.assign(model->gradients().begin(), model->gradients().end());
  return step;
}

// The whole model, a sample at a time, in double.
std::vector<double> ReferenceLogits(const Sizes& sizes, absl::Span<const double> parameters, absl::Span<const double> dense,
                                    absl::Span<const double> pooled) {
  const size_t pooled_columns = sizes.sparse_features * sizes.dim;
  const size_t samples = dense.size() / sizes.dense_features;
  std::vector<double> logits;
  for (size_t sample = 0; sample < samples; ++sample) {
    absl::Span<const double> left = parameters;
    std::vector<double> values(dense.begin() + sample * sizes.dense_features, dense.begin() + (sample + 1) * sizes.dense_features);
    const auto run_layer = [&](uint32_t width, bool relu) {
      const ReferenceLinear linear = {values.size(), width, relu};
      values = linear.Forward(left, values);
      left.remove_prefix(linear.parameter_count());
    };
    for (const uint32_t width : sizes.bottom) run_layer(width, true);
    values.insert(values.end(), pooled.begin() + sample * pooled_columns, pooled.begin() + (sample + 1) * pooled_columns);
    values = ReferenceInteraction(values, sizes.dim);
    for (size_t i = 0; i < sizes.top.size(); ++i) run_layer(sizes.top[i], i + 1 < sizes.top.size());
    logits.push_back(values[0]);
  }
  return logits;
}

void CheckAgainstReference(const Sizes& sizes, uint32_t samples) {
  SCOPED_TRACE(testing::Message() << samples << " samples");
  auto model = MakeModel(sizes);
  ASSERT_TRUE(model.ok()) << model.status();
  const Inputs inputs(sizes, samples);
  const Step step = RunStep(model->get(), inputs);
  const std::vector<double> parameters = ToDouble((*model)->parameters()), dense = ToDouble(inputs.dense), pooled = ToDouble(inputs.pooled);
  const std::vector<double> weights = ToDouble(inputs.logit_gradient);

  ExpectClose(step.logits, ReferenceLogits(sizes, parameters, dense, pooled), 1e-5);
  ExpectClose(step.gradients,
              NumericGradient(parameters, [&](const auto& p) { return Dot(ReferenceLogits(sizes, p, dense, pooled), weights); }), 1e-5);
  // A sample's pooled vectors act on its own logit alone.
  const size_t pooled_columns = sizes.sparse_features * sizes.dim;
  for (size_t sample = 0; sample < samples; ++sample) {
    const absl::Span<const double> row = absl::MakeSpan(pooled).subspan(sample * pooled_columns, pooled_columns);
    const absl::Span<const double> dense_row = absl::MakeSpan(dense).subspan(sample * sizes.dense_features, sizes.dense_features);
    const std::vector<double> expected = NumericGradient(
        {row.begin(), row.end()}, [&](const auto& x) { return weights[sample] * ReferenceLogits(sizes, parameters, dense_row, x)[0]; });
    ExpectClose(absl::MakeSpan(step.pooled_gradient).subspan(sample * pooled_columns, pooled_columns), expected, 1e-5);
  }
}

TEST(DlrmTest, GradientsOfTheWholeModelMatchFiniteDifferences) {
  for (const uint32_t samples : {1, 2, 7, 33}) CheckAgainstReference(Sizes(), samples);
}

TEST(DlrmTest, GradientsMatchAcrossBlocks) { CheckAgainstReference({1, 2, 2, {2}, {3, 1}}, 515); }

TEST(DlrmTest, GradientsMatchWithoutSparseFeaturesAndWithOneLayerEach) {
  CheckAgainstReference({3, 0, 4, {4}, {1}}, 5);
  CheckAgainstReference({1, 1, 1, {1}, {1}}, 3);
}

TEST(DlrmTest, ABatchOfNoSamplesGivesZeroGradients) {
  auto model = *MakeModel(Sizes());
  RunStep(model.get(), Inputs(Sizes(), 9));
  const Step step = RunStep(model.get(), Inputs(Sizes(), 0));
  EXPECT_THAT(step.gradients, testing::Each(0.0f));
}

TEST(DlrmTest, SmallerAndLargerBatchesFollowEachOther) {
  auto model = *MakeModel(Sizes());
  for (const uint32_t samples : {5, 300, 1, 0, 513}) {
    const Step step = RunStep(model.get(), Inputs(Sizes(), samples));
    const Step fresh = RunStep(MakeModel(Sizes())->get(), Inputs(Sizes(), samples));
    EXPECT_EQ(step.logits, fresh.logits);
    EXPECT_EQ(step.gradients, fresh.gradients);
    EXPECT_EQ(step.pooled_gradient, fresh.pooled_gradient);
  }
}

TEST(DlrmTest, TwoInstancesAreBitEqual) {
  const Inputs inputs(PaperSizes(), 300);
  auto first = *MakeModel(PaperSizes()), second = *MakeModel(PaperSizes());
  ASSERT_EQ(first->parameters(), second->parameters());
  const Step a = RunStep(first.get(), inputs), b = RunStep(second.get(), inputs);
  EXPECT_EQ(std::memcmp(a.logits.data(), b.logits.data(), a.logits.size() * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(a.gradients.data(), b.gradients.data(), a.gradients.size() * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(a.pooled_gradient.data(), b.pooled_gradient.data(), a.pooled_gradient.size() * sizeof(float)), 0);
}

// What a reducer may take while backward goes on: told last layer first, once each, when it is final.
TEST(DlrmTest, TellsOfEachLayerWhenItsGradientsAreFinal) {
  for (const uint32_t samples : {0, 1, 300, 512}) {
    auto model = *MakeModel(Sizes());
    const Inputs inputs(Sizes(), samples);
    const Step step = RunStep(model.get(), inputs);
    std::vector<uint32_t> told;
    std::vector<float> final_gradients(step.gradients.size());
    model->OnGradientsReady([&](uint32_t offset) {
      const uint32_t end = told.empty() ? static_cast<uint32_t>(final_gradients.size()) : told.back();
      ASSERT_LT(offset, end);
      std::copy(model->gradients().begin() + offset, model->gradients().begin() + end, final_gradients.begin() + offset);
      told.push_back(offset);
    });
    std::vector<float> logits(samples), pooled_gradient(inputs.pooled.size());
    model->Forward(samples, inputs.dense, inputs.pooled, absl::MakeSpan(logits));
    model->BackwardToPooled(inputs.logit_gradient, absl::MakeSpan(pooled_gradient));
    EXPECT_EQ(told.size(), Sizes().top.size());
    EXPECT_EQ(pooled_gradient, step.pooled_gradient);
    model->FinishBackward();
    ASSERT_EQ(told.size(), model->layers().size());
    for (size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], model->layers()[told.size() - 1 - i].offset);
    EXPECT_EQ(final_gradients, step.gradients);
  }
}

// Parity of training.precision: bf16. Factors are off by 2^-8 at most; of gradients more is that one ReLU in 250, near its edge, opens or
// closes.
TEST(DlrmTest, Bf16StaysNearFp32) {
  auto model = *MakeModel(PaperSizes());
  const Inputs inputs(PaperSizes(), 300);
  const Step exact = RunStep(model.get(), inputs);
  if (const absl::Status status = SetMatrixPrecision(Precision::kBf16); !status.ok()) GTEST_SKIP() << status;
  const Step rounded = RunStep(model.get(), inputs), again = RunStep(model.get(), inputs);
  ASSERT_TRUE(SetMatrixPrecision(Precision::kFp32).ok());
  const auto difference = [](const std::vector<float>& a, const std::vector<float>& b) {
    double squares = 0, all = 0;
    for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]), all += a[i] * a[i];
    return std::sqrt(squares / all);
  };
  EXPECT_LT(difference(exact.logits, rounded.logits), 0.02);
  for (const auto vector : {&Step::logits, &Step::gradients, &Step::pooled_gradient}) {
    const double off = difference(exact.*vector, rounded.*vector);
    EXPECT_LT(off, 0.1);
    EXPECT_GT(off, 1e-5);  // it is bf16
    EXPECT_EQ(rounded.*vector, again.*vector);
  }
}

TEST(DlrmTest, LayersCoverTheParametersInOrder) {
  auto model = *MakeModel(PaperSizes());
  std::vector<std::string> names;
  size_t offset = 0;
  for (const ParameterSlice& slice : model->layers()) {
    names.push_back(slice.name);
    EXPECT_EQ(slice.offset, offset);
    offset += slice.size;
    EXPECT_EQ((slice.columns + 1) * slice.rows, slice.size);
  }
  EXPECT_THAT(names, testing::ElementsAre("bottom.0", "bottom.1", "bottom.2", "bottom.3", "top.0", "top.1", "top.2"));
  EXPECT_EQ(model->layers()[4].size, (16 + 351 + 1) * 512u);
  EXPECT_EQ(model->layers()[4].rows, 512);
  EXPECT_EQ(model->parameters().size(), offset);
  EXPECT_EQ(model->gradients().size(), offset);
}

TEST(DlrmTest, InitialParametersHaveTheStatedVarianceAndDependOnTheSeed) {
  auto model = *MakeModel(PaperSizes());
  const ParameterSlice& slice = model->layers()[4];
  const auto check = [](absl::Span<const float> values, double variance) {
    double sum = 0, squares = 0;
    for (const float value : values) sum += value, squares += double{value} * value;
    const double mean = sum / values.size();
    EXPECT_NEAR(mean, 0, 4 * std::sqrt(variance / values.size()));
    EXPECT_NEAR(squares / values.size() / variance, 1, 4 * std::sqrt(2.0 / values.size()));
  };
  check(model->parameters().subspan(slice.offset, 367 * 512), 2.0 / (367 + 512));
  check(model->parameters().subspan(slice.offset + 367 * 512, 512), 1.0 / 512);

  auto other = *MakeModel(PaperSizes(), 2);
  EXPECT_NE(model->parameters(), other->parameters());
  EXPECT_EQ(std::set<float>(model->parameters().begin(), model->parameters().begin() + 1000).size(), 1000u);
}

// Every process and every later version must draw the same numbers.
TEST(DlrmTest, InitialParametersAreGolden) {
  auto model = *MakeModel(Sizes(), 42);
  const float* p = model->parameters().data();
  EXPECT_FLOAT_EQ(p[0], 0.20172147f);
  EXPECT_FLOAT_EQ(p[1], 0.29269141f);
  EXPECT_FLOAT_EQ(model->parameters().back(), 0.51817572f);
}

TEST(CreateDenseModelTest, RefusesWidthsThatDoNotFit) {
  const auto error = [](Sizes sizes) { return std::string(MakeModel(sizes).status().message()); };
  EXPECT_THAT(error({3, 4, 5, {7, 6}, {1}}),
              HasSubstr("model.bottom: the last width must be embeddings.dim, 5, but the widths are [7, 6]"));
  EXPECT_THAT(error({3, 4, 5, {}, {1}}), HasSubstr("model.bottom"));
  EXPECT_THAT(error({3, 4, 5, {5}, {4, 2}}), HasSubstr("model.top: the last width must be 1"));
  EXPECT_THAT(error({3, 4, 5, {5}, {}}), HasSubstr("model.top"));
  EXPECT_THAT(error({3, 4, 5, {0, 5}, {1}}), HasSubstr("width 0"));
  EXPECT_THAT(error({3, 4, 5, {5}, {0, 1}}), HasSubstr("width 0"));
  EXPECT_THAT(error({3, 4, 0, {0}, {1}}), HasSubstr("embeddings.dim"));
  EXPECT_THAT(error({3, 4, 5, {4000000000, 4000000000, 5}, {1}}), HasSubstr("narrower"));
  EXPECT_THAT(error({3, 16000, 5, {5}, {1000, 1}}), HasSubstr("narrower"));
}

TEST(CreateDenseModelTest, RefusesAModelWithoutAType) {
  EXPECT_EQ(CreateDenseModel(Model(), DataSchema(), 4, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

absl::StatusOr<std::unique_ptr<DenseModel>> MakeCutModel(const std::vector<std::string>& after, Cut::Method method, double sparsity) {
  const Sizes sizes;
  Model model;
  model.set_type(Model::TYPE_DLRM);
  for (const uint32_t width : sizes.bottom) model.add_bottom(width);
  for (const uint32_t width : sizes.top) model.add_top(width);
  for (const std::string& layer : after) {
    Cut* const cut = model.add_cuts();
    cut->set_after(layer);
    cut->set_method(method);
    cut->set_sparsity(sparsity);
  }
  DataSchema schema;
  schema.dense_features = sizes.dense_features;
  schema.sparse_features.resize(sizes.sparse_features);
  return CreateDenseModel(model, schema, sizes.dim, 1);
}

// At every place where a cut can stand.
TEST(CutModelTest, SparsityZeroIsNoCutToTheBit) {
  const Inputs inputs(Sizes(), 300);
  const Step whole = RunStep(MakeModel(Sizes())->get(), inputs);
  for (const char* after : {"bottom.0", "bottom.1", "top.0", "top.1"}) {
    const Step cut = RunStep(MakeCutModel({after}, Cut::METHOD_EXACT, 0)->get(), inputs);
    EXPECT_EQ(cut.logits, whole.logits) << after;
    EXPECT_EQ(cut.gradients, whole.gradients) << after;
    EXPECT_EQ(cut.pooled_gradient, whole.pooled_gradient) << after;
  }
}

// The cut model is a function, whose gradient must be its own: away from where a mask changes.
TEST(CutModelTest, GradientsAreThoseOfTheThresholdedModel) {
  const Inputs inputs(Sizes(), 3);
  for (const char* after : {"bottom.0", "bottom.1", "top.0", "top.1"}) {
    const auto model = MakeCutModel({after}, Cut::METHOD_EXACT, 0.6);
    ASSERT_TRUE(model.ok()) << model.status();
    const Step step = RunStep(model->get(), inputs);
    const auto loss = [&](size_t parameter, float change) {
      const absl::Span<float> parameters = (*model)->parameters();
      const float before = parameters[parameter];
      parameters[parameter] += change;
      std::vector<float> logits(inputs.samples);
      (*model)->Forward(inputs.samples, inputs.dense, inputs.pooled, absl::MakeSpan(logits));
      parameters[parameter] = before;
      double sum = 0;
      for (uint32_t i = 0; i < inputs.samples; ++i) sum += double{logits[i]} * inputs.logit_gradient[i];
      return sum;
    };
    int differences = 0;
    for (size_t i = 0; i < step.gradients.size(); ++i) {
      const double slope = (loss(i, 2e-3f) - loss(i, -2e-3f)) / 4e-3;
      differences += std::abs(slope - step.gradients[i]) > 2e-2 * (1 + std::abs(slope));
    }
    EXPECT_LE(differences, 3) << after;  // a threshold crossed within a difference
  }
}

TEST(CutModelTest, CountsWhatCrossed) {
  const Inputs inputs(Sizes(), 10);
  const auto model = MakeCutModel({"bottom.0", "top.0"}, Cut::METHOD_EXACT, 0.5);
  ASSERT_TRUE(model.ok()) << model.status();
  RunStep(model->get(), inputs);
  const std::vector<client::CodecStats> stats = (*model)->TakeStats();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].edge, "cut");
  EXPECT_EQ(stats[0].name, "bottom.0");
  EXPECT_EQ(stats[0].stats.entries, 10u * 7);
  EXPECT_LE(stats[0].stats.kept, 10u * (7 - 3 + 1));
  EXPECT_GT(stats[0].stats.kept, 0u);
}

TEST(CutModelTest, RefusesALayerThatHasNoActivations) {
  for (const char* after : {"top.2", "top.9", "middle.0"}) {
    EXPECT_EQ(MakeCutModel({after}, Cut::METHOD_EXACT, 0.5).status().code(), absl::StatusCode::kInvalidArgument) << after;
  }
}

}  // namespace
}  // namespace weir::worker
