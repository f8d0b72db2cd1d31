#include "proto/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/codec_overrides.h"
#include "proto/job_tables.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMinimal[] = "data: {train: [a.tsv]}\n";

Job MustParse(const std::string& text, const std::vector<std::string>& sets = {}) {
  const absl::StatusOr<Job> job = ParseJob(text, "job.yaml", sets);
  EXPECT_TRUE(job.ok()) << job.status() << "\n" << text;
  return job.value_or(Job());
}

TEST(JobFileTest, DefaultsOfAMinimalJob) {
  const Job job = MustParse(kMinimal);
  EXPECT_EQ(job.name(), "job");
  EXPECT_EQ(job.seed(), 1);
  EXPECT_EQ(job.data().format(), Data::FORMAT_CRITEO_TSV);
  EXPECT_THAT(job.model().bottom(), ElementsAre(512, 256, 64, 16));
  EXPECT_THAT(job.model().top(), ElementsAre(512, 256, 1));
  EXPECT_EQ(job.model().optimizer().type(), Optimizer::TYPE_SGD);
  EXPECT_EQ(job.model().optimizer().learning_rate(), 0.1);
  EXPECT_EQ(job.embeddings().optimizer().type(), Optimizer::TYPE_ROWWISE_ADAGRAD);
  EXPECT_EQ(job.embeddings().optimizer().epsilon(), 1e-8);
  EXPECT_EQ(job.compression().lookup().method(), Compression::METHOD_FP16);
  EXPECT_EQ(job.compression().push().sparsity(), 0.9);
  EXPECT_EQ(job.compression().dense().refresh_every(), 1000);
}

TEST(JobFileTest, OnlySettingsWithAnEffectAreSet) {
  const Job job = MustParse(kMinimal);
  EXPECT_FALSE(job.data().has_buckets());
  EXPECT_FALSE(job.model().optimizer().has_epsilon());
  EXPECT_FALSE(job.embeddings().optimizer().has_beta1());
  EXPECT_FALSE(job.compression().lookup().has_sparsity());
  const Job pooled = MustParse("data: {train: [a], test: [b]}\ncompression: {lookup: {method: dct}}\n");
  EXPECT_FALSE(pooled.data().has_test_last_rows());
  EXPECT_EQ(pooled.compression().lookup().scope(), Compression::SCOPE_SAMPLE);
  EXPECT_FALSE(pooled.compression().has_push());
}

TEST(JobFileTest, WhereARateFallsNeedsAFall) {
  const Job job = MustParse(kMinimal, {"training.schedule={decay_steps: 5, decay_start: 10}"});
  EXPECT_EQ(job.training().schedule().final_share(), 0);
  EXPECT_FALSE(MustParse(kMinimal).training().schedule().has_decay_start());
  const absl::Status status = ParseJob(kMinimal, "job.yaml", {"training.schedule.decay_start=10"}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("decay_steps above 0"));
}

TEST(JobFileTest, BottomFollowsTheRowWidth) {
  EXPECT_THAT(MustParse(kMinimal, {"embeddings.dim=32"}).model().bottom(), ElementsAre(512, 256, 64, 32));
}

TEST(JobFileTest, TableOverrideInheritsWhatItDoesNotSay) {
  const Job job = MustParse(R"(
data: {train: [a]}
embeddings:
  optimizer: {type: adagrad, epsilon: 0.25}
  tables:
    - {name: C3, optimizer: {learning_rate: 0.5}}
    - {name: C7, optimizer: {type: adam}, initializer: {type: constant, scale: -2}}
)");
  const std::vector<TableSpec> tables = TablesOf(job);
  ASSERT_EQ(tables.size(), 26);
  EXPECT_EQ(tables[2].name, "C3");
  EXPECT_EQ(tables[2].optimizer.type(), Optimizer::TYPE_ADAGRAD);
  EXPECT_EQ(tables[2].optimizer.epsilon(), 0.25);
  EXPECT_EQ(tables[2].optimizer.learning_rate(), 0.5);
  EXPECT_EQ(tables[2].initializer.type(), Initializer::TYPE_UNIFORM);
  EXPECT_EQ(tables[6].optimizer.beta2(), 0.999);
  EXPECT_EQ(tables[6].optimizer.epsilon(), 1e-8);
  EXPECT_EQ(tables[6].initializer.scale(), -2);
  EXPECT_EQ(tables[0].optimizer.type(), Optimizer::TYPE_ADAGRAD);
}

TEST(JobFileTest, SetReplacesAValueAListAndAGroup) {
  const std::string text = absl::StrCat(kMinimal, "compression: {dense: {method: dct, sparsity: 0.5}, push: {values: fp16}}\n");
  EXPECT_EQ(MustParse(text, {"compression.dense.sparsity=0.75"}).compression().dense().sparsity(), 0.75);
  EXPECT_THAT(MustParse(text, {"data.train=[x, y]"}).data().train(), ElementsAre("x", "y"));
  const Job plain = MustParse(text, {"compression={lookup: {method: plain}, push: {method: plain}, dense: {method: none}}"});
  EXPECT_EQ(plain.compression().push().method(), Compression::METHOD_PLAIN);
  EXPECT_FALSE(plain.compression().dense().has_sparsity());
}

TEST(JobFileTest, SetTakesWithItWhatLosesItsEffect) {
  const Job job =
      MustParse(R"(
data: {train: [a], test_last_rows: 5}
embeddings: {optimizer: {type: adagrad, epsilon: 0.5, learning_rate: 0.25}}
compression: {push: {method: dct, sparsity: 0.5}, dense: {sparsity: 0.5}}
)",
                {"compression.dense.method=none", "compression.lookup.method=dct", "embeddings.optimizer.type=sgd", "data.test=[b]"});
  EXPECT_FALSE(job.compression().dense().has_sparsity());
  EXPECT_FALSE(job.compression().has_push());
  EXPECT_FALSE(job.embeddings().optimizer().has_epsilon());
  EXPECT_EQ(job.embeddings().optimizer().learning_rate(), 0.25);
  EXPECT_FALSE(job.data().has_test_last_rows());
}

TEST(JobFileTest, EachDenseMethodHasItsSettings) {
  for (const char* method : {"none", "fp16", "bf16", "dct", "topk", "dgc", "powersgd"}) {
    const auto dense = MustParse(kMinimal, {absl::StrCat("compression.dense.method=", method)}).compression().dense();
    const bool selects = dense.method() == Compression::METHOD_DCT || dense.method() == Compression::METHOD_TOPK ||
                         dense.method() == Compression::METHOD_DGC;
    EXPECT_EQ(dense.has_sparsity(), selects) << method;
    EXPECT_EQ(dense.has_values(), selects) << method;
    EXPECT_EQ(dense.has_min_elements(), selects || dense.method() == Compression::METHOD_POWERSGD) << method;
    EXPECT_EQ(dense.rank(), dense.method() == Compression::METHOD_POWERSGD ? 4 : 0) << method;
    EXPECT_EQ(dense.has_refresh_every(), dense.method() == Compression::METHOD_DCT) << method;
    EXPECT_EQ(dense.momentum(), dense.method() == Compression::METHOD_DGC ? 0.9 : 0) << method;
    EXPECT_EQ(dense.has_clip_norm(), dense.method() == Compression::METHOD_DGC) << method;
    EXPECT_EQ(dense.has_warmup_steps(), dense.method() == Compression::METHOD_DGC) << method;
  }
}

struct BadJob {
  const char* text;  // kMinimal's line is put before it, as line 1, unless it has a `data:` of its own
  std::vector<std::string> sets;
  std::vector<const char*> message;  // fragments of the error
};

class BadJobTest : public testing::TestWithParam<BadJob> {};

TEST_P(BadJobTest, NamesPlaceSettingAndReason) {
  const std::string text = absl::StrContains(GetParam().text, "data:") ? GetParam().text : absl::StrCat(kMinimal, GetParam().text);
  const absl::StatusOr<Job> job = ParseJob(text, "job.yaml", GetParam().sets);
  ASSERT_FALSE(job.ok()) << text;
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* fragment : GetParam().message) EXPECT_THAT(std::string(job.status().message()), HasSubstr(fragment));
}

const BadJob kTextErrors[] = {
    {"compression:\n  dense:\n    sparsty: 0.9\n", {}, {"job.yaml:4: unknown key 'compression.dense.sparsty'; did you mean 'sparsity'?"}},
    {"trainning: {}\n", {}, {"job.yaml:2: unknown key 'trainning'; did you mean 'training'?"}},
    {"wibble: 1\n", {}, {"job.yaml:2: unknown key 'wibble'; known here: name, seed, data"}},
    {"seed: 1\nseed: 2\n", {}, {"job.yaml:3: seed: is said twice"}},
    {"seed: one\n", {}, {"job.yaml:2: seed: must be a whole number from 0 to 18446744073709551615, not 'one'"}},
    {"seed: -1\n", {}, {"job.yaml:2: seed", "'-1'"}},
    {"seed: 18446744073709551616\n", {}, {"job.yaml:2: seed"}},
    {"training: {batch_size: 4294967296}\n", {}, {"job.yaml:2: training.batch_size", "to 4294967295"}},
    {"training: {epochs: 1e3}\n", {}, {"job.yaml:2: training.epochs", "whole number"}},
    {"training: {deterministic: yes}\n", {}, {"job.yaml:2: training.deterministic: must be true or false, not 'yes'"}},
    {"training: 7\n", {}, {"job.yaml:2: training: must be a group of keys, not '7'"}},
    {"seed: [1]\n", {}, {"job.yaml:2: seed: must be a single value, not a list"}},
    {"seed:\n", {}, {"job.yaml:2: seed", "not no value"}},
    {"model:\n  top: 512\n", {}, {"job.yaml:3: model.top: must be a list in [ ], not '512'"}},
    {"model:\n  top: [64,\n    x, 1]\n", {}, {"job.yaml:4: model.top[1]"}},
    {"embeddings: {initializer: {scale: .nan}}\n", {}, {"job.yaml:2: embeddings.initializer.scale: must be a finite number"}},
    {"embeddings: {initializer: {scale: inf}}\n", {}, {"must be a finite number, not 'inf'"}},
    {"model: {optimizer: {type: SGD}}\n",
     {},
     {"job.yaml:2: model.optimizer.type: must be one of sgd, adagrad, rowwise_adagrad, adam, not 'SGD'"}},
    {"model: {optimizer: {type: unspecified}}\n", {}, {"must be one of sgd"}},
    {"name: a\xffz\n", {}, {"job.yaml:2: name: must be UTF-8 text"}},
    {"name: \"a\\nb\"\n", {}, {"job.yaml:2: name: must be UTF-8 text without control characters"}},
    {"a: [1\n", {}, {"job.yaml:", "not YAML"}},
    {"a: *nowhere\n", {}, {"job.yaml:2", "not YAML"}},
    {"- 1\n", {}, {"job.yaml"}},
};
INSTANTIATE_TEST_SUITE_P(Text, BadJobTest, testing::ValuesIn(kTextErrors));

const BadJob kSetErrors[] = {
    {"", {"seed"}, {"--set seed: must be key=value"}},
    {"", {"sed=3"}, {"--set sed: unknown key 'sed'; did you mean 'seed'?"}},
    {"", {"training.epochs=x"}, {"--set training.epochs: training.epochs: must be a whole number"}},
    {"", {"embeddings.tables.C3=1"}, {"--set embeddings.tables.C3: 'embeddings.tables' is set whole"}},
    {"", {"seed.x=1"}, {"'seed' is set whole"}},
    {"", {"model.top=[1"}, {"--set model.top", "not YAML"}},
    {"", {"compression.lookup.sparsity=0.5"}, {"--set compression.lookup.sparsity: compression.lookup.sparsity: has no effect"}},
    {"compression: {lookup: {sparsity: 0.5}}\n",
     {"compression.lookup.method=dct"},
     {"job.yaml:2: compression.lookup.sparsity: has no effect"}},
    {"", {"compression={lookup: {sparsity: 0.5}}"}, {"--set compression: compression.lookup.sparsity: has no effect"}},
};
INSTANTIATE_TEST_SUITE_P(Set, BadJobTest, testing::ValuesIn(kSetErrors));

const BadJob kNoEffectErrors[] = {
    {"compression:\n  lookup:\n    method: fp16\n    sparsity: 0.5\n",
     {},
     {"job.yaml:5: compression.lookup.sparsity: has no effect: only compression.lookup.method: dct reads it"}},
    {"compression:\n  lookup: {method: dct}\n  push:\n    method: dct\n",
     {},
     {"job.yaml:5: compression.push.method: has no effect", "what the lookup kept"}},
    {"compression:\n  lookup: {method: dct}\n  push: {values: fp16}\n", {}, {"job.yaml:4: compression.push.values: has no effect"}},
    {"compression: {push: {method: fp16, refresh_every: 3}}\n", {}, {"compression.push.refresh_every: has no effect"}},
    {"compression: {dense: {method: none, min_elements: 3}}\n", {}, {"compression.dense.min_elements: has no effect"}},
    {"compression: {dense: {method: bf16, sparsity: 0.5}}\n", {}, {"compression.dense.sparsity: has no effect", "dct, topk and dgc"}},
    {"compression: {dense: {method: topk, refresh_every: 3}}\n", {}, {"compression.dense.refresh_every: has no effect", "dct reads it"}},
    {"compression: {dense: {method: topk, momentum: 0.5}}\n", {}, {"compression.dense.momentum: has no effect", "dgc reads it"}},
    {"compression: {dense: {method: dgc, rank: 2}}\n", {}, {"compression.dense.rank: has no effect", "powersgd reads it"}},
    {"checkpoint: {keep: 5}\n", {}, {"job.yaml:2: checkpoint.keep: has no effect: only checkpoint.every has any saved"}},
    {"checkpoint: {every: 5m, push_log: false}\ncompression: {lookup: {method: dct}}\n",
     {},
     {"checkpoint.push_log: has no effect", "all processes start again"}},
    {"data:\n  train: [a]\n  buckets: 10\n", {}, {"job.yaml:3: data.buckets: has no effect: only data.keys: buckets reads it"}},
    {"data:\n  train: [a]\n  test: [b]\n  test_last_rows: 10\n", {}, {"job.yaml:4: data.test_last_rows: has no effect: data.test names"}},
    {"model:\n  optimizer:\n    beta1: 0.5\n",
     {},
     {"job.yaml:4: model.optimizer.beta1: has no effect: type sgd reads only type, learning_rate"}},
    {"embeddings: {optimizer: {beta2: 0.5}}\n", {}, {"embeddings.optimizer.beta2: has no effect: type rowwise_adagrad"}},
    {"embeddings:\n  tables:\n    - name: C1\n", {}, {"job.yaml:4: embeddings.tables[0]: has no effect"}},
    {"embeddings:\n  tables:\n    - {name: C1, optimizer: {type: sgd,\n       epsilon: 1}}\n",
     {},
     {"job.yaml:5: embeddings.tables[0].optimizer.epsilon: has no effect: type sgd"}},
};
INSTANTIATE_TEST_SUITE_P(NoEffect, BadJobTest, testing::ValuesIn(kNoEffectErrors));

const BadJob kMeaningErrors[] = {
    {"data: {}\n", {}, {"job.yaml:1: data.train: no training files"}},
    {"data: {train: [\"\"]}\n", {}, {"job.yaml:1: data.train[0]: is an empty file name"}},
    {"checkpoint: {every: often}\n", {}, {"job.yaml:2: checkpoint.every: 'often' is neither a number of steps"}},
    {"checkpoint: {every: 100, keep: 0}\n", {}, {"job.yaml:2: checkpoint.keep: must be at least 1"}},
    {"name: ../up\n", {}, {"job.yaml:2: name", "'../up' is not"}},
    {"name: .hidden\n", {}, {"job.yaml:2: name"}},
    {"compression: {dense: {sparsity: 1}}\n", {}, {"job.yaml:2: compression.dense.sparsity: must be at least 0 and below 1, not 1"}},
    {"compression: {push: {sparsity: -0.1}}\n", {}, {"compression.push.sparsity", "not -0.1"}},
    {"compression: {dense: {refresh_every: 0}}\n", {}, {"compression.dense.refresh_every: must be at least 1"}},
    {"compression: {lookup: {method: plain}, push: {method: none}}\n", {}, {"compression.push.method", "lookup and push together"}},
    {"compression: {push: {method: plain}}\n", {}, {"lookup and push together"}},
    {"compression: {lookup: {method: dct, scope: row}}\n", {}, {"compression.lookup.scope: row does not go with dct", "use change"}},
    {"compression: {lookup: {method: topk}}\n",
     {},
     {"compression.lookup.method: topk is for gradients", "int8_rowwise, error_bounded or dct"}},
    {"compression: {push: {method: int8_rowwise}}\n", {}, {"compression.push.method: int8_rowwise has no residual", "values: int8"}},
    {"compression: {push: {method: dgc}}\n", {}, {"compression.push.method: dgc is for dense layers"}},
    {"training: {staleness: 2}\ncompression: {lookup: {method: dct, scope: change}}\n", {}, {"change needs training.staleness 0, not 2"}},
    {"compression: {dense: {layers: [{name: bottom.9, method: fp16}]}}\n",
     {},
     {"compression.dense.layers[0].name: unknown name 'bottom.9'"}},
    {"compression: {dense: {layers: [{name: top.0}]}}\n", {}, {"compression.dense.layers[0]: has no effect"}},
    {"compression: {dense: {layers: [{name: top.0, method: fp16, sparsity: 0.5}]}}\n", {}, {"layers[0].sparsity: has no effect"}},
    {"compression: {dense: {layers: [{name: top.0, method: topk, refresh_every: 5}]}}\n", {}, {"layers[0].refresh_every: has no effect"}},
    {"compression: {dense: {layers: [{name: top.0, method: fp16}, {name: top.0, method: bf16}]}}\n", {}, {"'top.0' is said twice"}},
    {"compression: {dense: {layers: [{name: top.0, method: none}]}}\n", {}, {"layers[0].method: none is not for a single layer"}},
    {"compression: {dense: {layers: [{name: top.0, method: dgc}]}}\n", {}, {"layers[0].method: dgc keeps the momentum"}},
    {"compression: {dense: {layers: [{name: top.0, sparsity: 1}]}}\n", {}, {"compression.dense.layers[0].sparsity: must be"}},
    {"compression: {dense: {method: none, layers: [{name: top.0, method: fp16}]}}\n",
     {},
     {"compression.dense.layers: has no effect", "none and powersgd sum all layers over Gloo"}},
    {"compression: {push: {tables: [{name: C99, method: fp16}]}}\n", {}, {"compression.push.tables[0].name: unknown name 'C99'"}},
    {"compression: {push: {tables: [{name: C1, method: topk}]}}\n", {}, {"tables[0].method: topk is not for a single table"}},
    {"compression: {lookup: {method: dct}, push: {tables: [{name: C1, method: fp16}]}}\n", {}, {"compression.push.tables: has no effect"}},
    {"compression: {push: {tables: [{name: C1, sparsity: 0.9}]}}\n", {}, {"push.tables[0]: has no effect: it says what its edge says"}},
    {"compression: {lookup: {error_bound: 0.1}}\n", {}, {"compression.lookup.error_bound: has no effect"}},
    {"compression: {lookup: {link_gbits: 10}}\n", {}, {"compression.lookup.link_gbits: has no effect"}},
    {"compression: {lookup: {method: error_bounded, error_bound: 0}}\n", {}, {"compression.lookup.error_bound: must be above 0"}},
    {"compression: {lookup: {method: error_bounded, error_bound_start: 0.5}}\n", {}, {"error_bound_start: must be at least 1"}},
    {"compression: {lookup: {method: error_bounded, entropy: huffman}}\n", {}, {"compression.lookup.entropy: has no effect"}},
    {"compression: {lookup: {method: plain, entropy: huffman}, push: {method: plain}}\n",
     {},
     {"compression.lookup.entropy: has no effect"}},
    {"compression: {dense: {method: powersgd, entropy: huffman}}\n", {}, {"compression.dense.entropy: has no effect"}},
    {"compression: {push: {method: error_bounded}}\n", {}, {"compression.push.method: error_bounded has no residual"}},
    {"compression: {lookup: {tables: [{name: C99, method: none}]}}\n", {}, {"compression.lookup.tables[0].name: unknown name 'C99'"}},
    {"compression: {lookup: {tables: [{name: C1, method: dct}]}}\n", {}, {"lookup.tables[0].method: dct by table means changes"}},
    {"compression: {lookup: {tables: [{name: C1, method: topk}]}}\n", {}, {"tables[0].method: topk is not for a single table"}},
    {"compression: {lookup: {tables: [{name: C1, method: fp16}]}}\n", {}, {"it says what its edge says"}},
    {"compression: {lookup: {method: dct, tables: [{name: C1, method: fp16}]}}\n", {}, {"lookup.tables: has no effect: scope sample"}},
    {"compression: {lookup: {tables: [{name: C1, method: error_bounded, error_bound: 2}]}}\n",
     {},
     {"compression.lookup.tables[0].error_bound: must be above 0 and at most 1"}},
    {"model: {cuts: [{after: bottom.7}]}\n", {}, {"model.cuts[0].after: no layer 'bottom.7'", "bottom.0 to top.1"}},
    {"model: {cuts: [{after: top.2}]}\n", {}, {"no layer 'top.2' that a cut can follow"}},
    {"model: {cuts: [{after: top.0}, {after: top.0}]}\n", {}, {"model.cuts[1].after: 'top.0' is cut twice"}},
    {"model: {cuts: [{after: top.0, sparsity: 1}]}\n", {}, {"model.cuts[0].sparsity: must be at least 0 and below 1"}},
    {"compression: {lookup: {method: fp16, threshold: laplace}}\n", {}, {"compression.lookup.threshold: has no effect"}},
    {"compression: {lookup: {method: fp16}, push: {method: fp16}, dense: {method: fp16}, guard: {bound: 0.1}}\n",
     {},
     {"compression.guard.bound: has no effect"}},
    {"compression: {guard: {probe_every: 5}}\n", {}, {"compression.guard.probe_every: has no effect"}},
    {"compression: {lookup: {method: dct, cache_rows: 100000}}\n", {}, {"compression.lookup.cache_rows: has no effect"}},
    {"compression: {lookup: {method: fp16, scope: sample}}\n", {}, {"compression.lookup.scope: sample and change go with method dct only"}},
    {"compression: {dense: {method: plain}}\n", {}, {"compression.dense.method", "use none"}},
    {"compression: {dense: {method: int8_rowwise}}\n", {}, {"compression.dense.method", "values: int8"}},
    {"compression: {dense: {method: dgc, momentum: 1}}\n", {}, {"compression.dense.momentum: must be at least 0 and below 1, not 1"}},
    {"compression: {dense: {method: dgc, clip_norm: -1}}\n", {}, {"compression.dense.clip_norm: must be at least 0, not -1"}},
    {"compression: {dense: {method: powersgd, rank: 65}}\n", {}, {"compression.dense.rank: must be at least 1 and at most 64, not 65"}},
    {"model: {optimizer: {type: adam}}\ncompression: {dense: {method: dgc}}\n",
     {},
     {"job.yaml:2: model.optimizer.type: dgc needs sgd: workers keep the momentum"}},
    {"training:\n  deterministic: true\n  staleness: 1\n", {}, {"job.yaml:3: training.deterministic: needs training.staleness 0, not 1"}},
    {"training: {staleness: -2}\n", {}, {"training.staleness: must be at least -1"}},
    {"training: {prefetch: 65}\n", {}, {"training.prefetch: must be at least 0 and at most 64, not 65"}},
    {"training: {batch_size: 7}\n", {}, {"job.yaml:2: training.batch_size: a batch of 7 does not divide among 2 workers"}},
    {"cluster: {workers: 3}\n", {}, {"job.yaml:2: cluster.workers: a batch of 2048 does not divide among 3 workers"}},
    {"cluster:\n  servers: 8\n  shards: 4\n", {}, {"job.yaml:4: cluster.shards: 4 shards leave some of 8 servers without work"}},
    {"cluster: {call_timeout_seconds: 0}\n", {}, {"cluster.call_timeout_seconds: must be above 0"}},
    {"embeddings: {dim: 0}\n", {}, {"embeddings.dim: must be at least 1 and at most 4096, not 0"}},
    {"model: {bottom: [64, 8]}\n", {}, {"job.yaml:2: model.bottom: the bottom MLP ends in 8 numbers and a row has 16"}},
    {"model: {top: [64, 2]}\n", {}, {"model.top: must end in 1"}},
    {"model: {top: [0, 1]}\n", {}, {"model.top[0]: must be at least 1"}},
    {"model: {optimizer: {type: rowwise_adagrad}}\n", {}, {"model.optimizer.type: rowwise_adagrad is for embeddings"}},
    {"model: {optimizer: {learning_rate: -1}}\n", {}, {"model.optimizer.learning_rate: must be at least 0, not -1"}},
    {"embeddings: {optimizer: {type: adam, beta1: 1}}\n", {}, {"embeddings.optimizer.beta1: must be at least 0 and below 1"}},
    {"embeddings: {optimizer: {epsilon: 0}}\n", {}, {"embeddings.optimizer.epsilon: must be above 0"}},
    {"embeddings: {initializer: {scale: -1}}\n", {}, {"embeddings.initializer.scale: must be at least 0"}},
    {"embeddings:\n  tables:\n  - {name: C27, optimizer: {type: sgd}}\n",
     {},
     {"job.yaml:4: embeddings.tables[0].name: unknown table 'C27'; did you mean 'C2'?"}},
    {"embeddings: {tables: [{name: C2, optimizer: {type: sgd}}, {name: C2, optimizer: {type: adam}}]}\n", {}, {"table 'C2' is said twice"}},
    {"output: {dir: \"\"}\n", {}, {"output.dir: is empty"}},
    {"output: {metrics_every_seconds: 0}\n", {}, {"output.metrics_every_seconds: must be above 0"}},
};
INSTANTIATE_TEST_SUITE_P(Meaning, BadJobTest, testing::ValuesIn(kMeaningErrors));

TEST(JobFileTest, TooLongIsRefusedBeforeItIsRead) {
  EXPECT_THAT(std::string(ParseJob(std::string(2 << 20, '#'), "job.yaml", {}).status().message()),
              HasSubstr("is longer than 1048576 bytes"));
}

TEST(JobFileTest, DeepNestingIsAnError) { EXPECT_FALSE(ParseJob(std::string(100000, '['), "job.yaml", {}).ok()); }

TEST(JobFileTest, EffectiveConfigurationRoundTrips) {
  const std::vector<std::string> texts = {
      kMinimal,
      "data: {train: [\"a b: #c\", '~', \"quote\\\"d\"], test: [t], on_bad_row: skip, keys: buckets, buckets: 77}\n",
      "data: {train: [a]}\ncompression: {lookup: {method: dct, sparsity: 0.3333333333333333}}\n",
      "data: {train: [a]}\nname: 007\nseed: 18446744073709551615\nembeddings: {initializer: {scale: 1e-300},\n"
      "  tables: [{name: C26, optimizer: {type: adam}}, {name: C1, initializer: {type: constant, scale: 3}}]}\n",
  };
  for (const std::string& text : texts) {
    const Job job = MustParse(text);
    const std::string yaml = JobToYaml(job);
    const Job again = MustParse(yaml);
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(job, again)) << yaml;
    EXPECT_EQ(JobHash(job), JobHash(again));
  }
}

// A changed hash means that processes of the old and the new version refuse each other: bump base/limits.h kProtocolVersion with it.
TEST(JobFileTest, HashIsGolden) { EXPECT_EQ(JobHash(MustParse(kMinimal)), 16448058970041601274u); }

TEST(JobFileTest, HashSeesEverySettingButTheRunFolder) {
  const uint64_t hash = JobHash(MustParse(kMinimal));
  EXPECT_EQ(JobHash(MustParse(kMinimal, {"output.dir=elsewhere"})), hash);
  for (const char* set : {"seed=2", "training.staleness=1", "compression.dense.sparsity=0.5", "data.train=[b.tsv]"}) {
    EXPECT_NE(JobHash(MustParse(kMinimal, {set})), hash) << set;
  }
}

class JobFileOnDiskTest : public testing::Test {
 protected:
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "jobs";
  std::string Write(const std::string& text) {
    std::filesystem::create_directories(folder_);
    const std::string path = (folder_ / "first.yaml").string();
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(JobFileOnDiskTest, PathsOfTheFileStartAtItsFolderAndThoseOfTheCommandLineAtTheCurrentOne) {
  const std::string path = Write("data: {train: [../rows.tsv, /abs/rows.tsv], test: [t]}\n");
  const absl::StatusOr<Job> job = ReadJobFile(path, {"data.test=[here.tsv]"});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->name(), "first");
  EXPECT_THAT(job->data().train(), ElementsAre((folder_.parent_path() / "rows.tsv").string(), "/abs/rows.tsv"));
  EXPECT_THAT(job->data().test(), ElementsAre((std::filesystem::current_path() / "here.tsv").string()));
}

TEST_F(JobFileOnDiskTest, MissingFileIsNamed) {
  const absl::Status status = ReadJobFile((folder_ / "none.yaml").string(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("none.yaml"));
}

TEST(ExamplesTest, EveryExampleIsALegalJob) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const absl::StatusOr<Job> job = ReadJobFile(entry.path().string(), {});
    EXPECT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->name(), entry.path().stem().string());
    ++examples;
  }
  EXPECT_GE(examples, 4);
}

// What a layer or table does not say is the edge's where the edge has it.
TEST(JobFileTest, OverridesAreCompletedByTheirEdge) {
  const Job job = MustParse(
      "data: {train: [a.tsv]}\n"
      "compression: {dense: {sparsity: 0.999, values: fp16, layers: [{name: top.0, method: topk}, {name: bottom.0, method: fp16}]},\n"
      "  push: {method: fp16, tables: [{name: C3, method: dct}]}}\n");
  const Compression::LayerDense& topk = job.compression().dense().layers(0);
  EXPECT_EQ(topk.sparsity(), 0.999);
  EXPECT_EQ(topk.values(), Compression::VALUES_FP16);
  EXPECT_FALSE(topk.has_refresh_every());
  EXPECT_FALSE(job.compression().dense().layers(1).has_sparsity());
  const Compression::TablePush& dct = job.compression().push().tables(0);
  EXPECT_EQ(dct.sparsity(), 0.9);
  EXPECT_EQ(dct.refresh_every(), 1u);
  EXPECT_EQ(dct.values(), Compression::VALUES_FP32);

  const Compression::Dense top = DenseOfLayer(job.compression().dense(), "top.0");
  EXPECT_EQ(top.method(), Compression::METHOD_TOPK);
  EXPECT_EQ(top.sparsity(), 0.999);
  EXPECT_EQ(top.min_elements(), 1u);
  EXPECT_EQ(top.layers_size(), 0);
  EXPECT_EQ(DenseOfLayer(job.compression().dense(), "top.1").method(), Compression::METHOD_DCT);
  EXPECT_EQ(PushOfTable(job.compression().push(), "C3").method(), Compression::METHOD_DCT);
  EXPECT_EQ(PushOfTable(job.compression().push(), "C4").method(), Compression::METHOD_FP16);
}

TEST(JobFileTest, LookupsOfSingleTables) {
  const Job job = MustParse(
      "data: {train: [a.tsv]}\n"
      "compression: {lookup: {method: dct, scope: change, values: int8, tables: [{name: C1, method: fp16},\n"
      "  {name: C2, method: error_bounded, error_bound: 0.01}, {name: C3, sparsity: 0.5}]}}\n");
  const Compression::Lookup& edge = job.compression().lookup();
  EXPECT_EQ(edge.error_bound_start(), 2);
  EXPECT_FALSE(edge.has_error_bound());
  EXPECT_EQ(LookupOfTable(edge, "C1").method(), Compression::METHOD_FP16);
  EXPECT_EQ(LookupOfTable(edge, "C1").scope(), Compression::SCOPE_ROW);
  EXPECT_EQ(LookupOfTable(edge, "C2").error_bound(), 0.01);
  EXPECT_EQ(LookupOfTable(edge, "C2").classes(), Compression::CLASSES_NONE);
  EXPECT_EQ(LookupOfTable(edge, "C3").method(), Compression::METHOD_DCT);
  EXPECT_EQ(LookupOfTable(edge, "C3").sparsity(), 0.5);
  EXPECT_EQ(LookupOfTable(edge, "C3").values(), Compression::VALUES_INT8);
  EXPECT_EQ(LookupOfTable(edge, "C4").sparsity(), 0.9);
}

// A grid over an edge's method takes with it what the file says for single tables and layers.
TEST(JobFileTest, OverridesGoWithTheMethodThatReadsThem) {
  const std::string text =
      "data: {train: [a.tsv]}\n"
      "compression: {lookup: {tables: [{name: C1, method: none}]}, dense: {layers: [{name: top.0, sparsity: 0.5}]},\n"
      "  push: {tables: [{name: C3, method: fp16}]}}\n";
  const absl::StatusOr<Job> none = ParseJob(text, "job.yaml", {"compression.dense.method=none"});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->compression().dense().layers_size(), 0);
  const absl::StatusOr<Job> plain = ParseJob(text, "job.yaml", {"compression.lookup.method=plain", "compression.push.method=plain"});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->compression().lookup().tables_size() + plain->compression().push().tables_size(), 0);
  const absl::StatusOr<Job> fp16 = ParseJob(text, "job.yaml", {"compression.dense.method=fp16", "compression.push.method=fp16"});
  EXPECT_TRUE(fp16.ok()) << fp16.status();
}

}  // namespace
}  // namespace weir
