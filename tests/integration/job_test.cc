// Whole jobs as real processes: what a run leaves behind, and the invariants of DESIGN section 9 that need a whole job.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/job_runner.h"

namespace weir::testing {
namespace {

using nlohmann::json;

class JobTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runner_ = new JobRunner;
    runner_->Generate("rows.tsv", 6000);
  }
  static void TearDownTestSuite() { delete runner_; }

  json Train(const std::string& name, std::vector<std::string> sets) {
    sets.push_back("training.deterministic=true");
    return runner_->Train(name, "rows.tsv", sets);
  }

  static JobRunner* runner_;
};

JobRunner* JobTest::runner_ = nullptr;

// Codec settings by the name of their test.
struct Codec {
  const char* name;
  std::vector<std::string> sets;
};

std::vector<Codec> AllCodecs() {
  return {
      {"none", {}},
      {"plain", {"compression.lookup.method=plain", "compression.push.method=plain"}},
      {"fp16", {"compression.lookup.method=fp16", "compression.push.method=fp16", "compression.dense.method=fp16"}},
      {"dct",
       {"compression.push.method=dct", "compression.push.sparsity=0.8", "compression.dense.method=dct", "compression.dense.sparsity=0.9",
        "compression.dense.refresh_every=5"}},
      {"dct_fp16",
       {"compression.push.method=dct", "compression.push.values=fp16", "compression.dense.method=dct", "compression.dense.values=fp16"}},
      {"int8",
       {"compression.lookup.method=int8_rowwise", "compression.push.method=dct", "compression.push.values=int8",
        "compression.dense.method=dct", "compression.dense.values=int8"}},
      {"change",
       {"compression.lookup={method: dct, scope: change, sparsity: 0.8, values: int8}", "compression.push.method=dct",
        "compression.push.values=int8"}},
      {"bf16", {"compression.lookup.method=bf16", "compression.push.method=bf16", "compression.dense.method=bf16"}},
      {"topk", {"compression.dense.method=topk", "compression.dense.sparsity=0.95", "compression.dense.values=int8"}},
      {"dgc",
       {"compression.dense.method=dgc", "compression.dense.sparsity=0.95", "compression.dense.warmup_steps=8",
        "compression.dense.clip_norm=1", "model.optimizer.learning_rate=0.01"}},
      {"powersgd", {"compression.dense.method=powersgd", "compression.dense.rank=2", "compression.dense.min_elements=16"}},
      {"mixed",
       {"compression.push={method: dct, sparsity: 0.8, tables: [{name: C3, method: fp16}, {name: C7, sparsity: 0.5}]}",
        "compression.dense={method: dct, sparsity: 0.9, layers: [{name: top.0, method: topk, values: int8}, {name: bottom.1, method: "
        "bf16}]}"}},
      {"sample", {"compression.lookup.method=dct", "compression.lookup.sparsity=0.5"}},
      {"sample_packed", {"compression.lookup={method: dct, sparsity: 0.5, entropy: huffman}"}},
      {"packed",
       {"compression.lookup={method: dct, scope: change, sparsity: 0.8, values: fp8, entropy: huffman}",
        "compression.push={method: dct, sparsity: 0.8, values: fp8, entropy: huffman}",
        "compression.dense={method: dct, sparsity: 0.9, values: fp8, entropy: huffman}"}},
      {"error_bounded", {"compression.lookup={method: error_bounded, error_bound_steps: 10, classes: measured}"}},
      {"tables",
       {"compression.lookup={method: dct, scope: change, sparsity: 0.8, values: int8, entropy: huffman, tables: [{name: C1, method: fp16}, "
        "{name: C2, method: error_bounded, error_bound: 0.01}, {name: C3, sparsity: 0.5, values: fp32}]}"}},
  };
}

TEST_F(JobTest, LeavesARunFolder) {
  const json result = Train("folder", {});
  const std::string dir = runner_->RunDir("folder");
  for (const char* file : {"job.yaml", "metrics.jsonl", "result.json", "report.html", "logs", "tensorboard"}) {
    EXPECT_TRUE(std::filesystem::exists(absl::StrCat(dir, "/", file))) << file;
  }
  for (const char* field : {"logloss", "auc", "ne", "calibration", "samples", "seconds"}) EXPECT_TRUE(result[field].is_number()) << field;
  EXPECT_EQ(result["samples"], 5500);
  EXPECT_EQ(result["evaluation_samples"], 500);
  for (const char* edge : {"lookup_request", "lookup_reply", "push", "dense", "control"}) {
    EXPECT_GT(result["wire_bytes"][edge].get<double>(), 0) << edge;
  }
  EXPECT_TRUE(runner_->LiveProcesses().empty());
}

// Parity of a whole job; where the processor cannot, the job says so.
TEST_F(JobTest, Bf16TrainsAsWellAsFp32) {
  const CommandResult result = runner_->Launch("bf16", "rows.tsv", {"training.precision=bf16", "training.deterministic=true"});
  if (result.exit_code != 0) {
    EXPECT_TRUE(absl::StrContains(result.output, "training.precision: bf16, but this processor has no instructions for it"))
        << result.output;
    GTEST_SKIP() << "this processor has no instructions for bf16";
  }
  const json rounded = json::parse(ReadFile(runner_->RunDir("bf16") + "/result.json"));
  const json exact = Train("fp32", {});
  EXPECT_NEAR(rounded["logloss"].get<double>() / exact["logloss"].get<double>(), 1, 0.002);
  EXPECT_NE(rounded["fingerprint"]["dense"], exact["fingerprint"]["dense"]);
}

// Every step's forward and backward, every call and every batch that was read.
TEST_F(JobTest, TracesSayWhatWorkersDidWhen) {
  std::vector<std::string> command = runner_->LaunchCommand("traced", "rows.tsv", {});
  command.push_back("--trace");
  const CommandResult result = RunningCommand(command).Wait();
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto steps = nlohmann::json::parse(ReadFile(runner_->RunDir("traced") + "/result.json"))["steps"].get<int>();
  for (const char* const worker : {"worker-0", "worker-1"}) {
    const auto trace = nlohmann::json::parse(ReadFile(absl::StrCat(runner_->RunDir("traced"), "/trace/", worker, ".json")));
    std::map<std::string, int> spans;
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == "X" || event["ph"] == "b") ++spans[event["name"]];
    }
    EXPECT_GE(spans["forward"], steps) << worker;
    EXPECT_EQ(2 * spans["forward"], spans["backward"]) << worker;  // two halves, and the push between them
    EXPECT_GE(spans["reduce"], steps) << worker;
    EXPECT_GE(spans["lookup"], steps) << worker;
    EXPECT_GE(spans["push"], steps) << worker;
    EXPECT_GT(spans["read"], 0) << worker;
  }
}

// What the codecs account for is part of what the sockets counted, and nearly all of it: the rest is messages, of which each of the 26
// tables takes some 30 bytes, and HTTP/2.
TEST_F(JobTest, AccountsFitTheSockets) {
  for (const Codec& codec : AllCodecs()) {
    const json result = Train(absl::StrCat("account-", codec.name), codec.sets);
    std::map<std::string, double> accounted;
    std::map<std::string, uint64_t> values;
    for (const json& line : result["account"]) {
      for (const char* term : {"keys", "masks", "values", "headers"}) accounted[line["edge"]] += line[term].get<double>();
      values[line["edge"]] += line["values"].get<uint64_t>();
    }
    // Each row of a step travels once as it is, and once its gradient: no step is left out of either.
    if (codec.name == absl::string_view("none")) {
      EXPECT_EQ(values["push"], values["lookup"]);
    }
    const auto counted = [&result](const char* edge) {
      return result["wire_bytes"][edge].get<double>() - result["wire_bytes_evaluation"][edge].get<double>();
    };
    const std::map<std::string, double> sockets = {
        {"lookup", counted("lookup_request") + counted("lookup_reply")}, {"push", counted("push")}, {"dense", counted("dense")}};
    const double calls = result["steps"].get<double>() * 2 * 2;  // of one edge: workers x servers, the fewer peers included
    for (const auto& [edge, bytes] : sockets) {
      EXPECT_LT(accounted[edge], bytes) << codec.name << " " << edge;
      if (edge == "dense" && accounted[edge] == 0) continue;  // Gloo's, not taken apart
      EXPECT_GT(accounted[edge], bytes - calls * 2000) << codec.name << " " << edge;
    }
    EXPECT_GT(result["step_seconds"]["forward"].get<double>(), 0);
    for (const char* cause : {"lookup", "push", "reduce"}) {
      EXPECT_LE(result["step_waits"][cause].get<uint64_t>(), 2 * (result["steps"].get<uint64_t>() + 1)) << cause;
    }
  }
}

TEST_F(JobTest, SameSeedSameBitsForEveryCodec) {
  std::set<std::string> fingerprints;
  std::map<std::string, std::string> of_codec;
  for (const Codec& codec : AllCodecs()) {
    const json first = Train(absl::StrCat("first-", codec.name), codec.sets);
    const json second = Train(absl::StrCat("second-", codec.name), codec.sets);
    EXPECT_EQ(first["fingerprint"], second["fingerprint"]) << codec.name;
    EXPECT_EQ(first["logloss"], second["logloss"]) << codec.name;
    fingerprints.insert(first["fingerprint"].dump());
    of_codec[codec.name] = first["fingerprint"].dump();
  }
  EXPECT_EQ(of_codec["sample_packed"], of_codec["sample"]);
  // A lossy codec that changes nothing was not in use; plain and none differ in bytes only, as do sample and sample_packed.
  EXPECT_GE(fingerprints.size(), AllCodecs().size() - 2);
  EXPECT_NE(Train("other-seed", {"seed=2"})["fingerprint"], Train("seed", {})["fingerprint"]);
}

TEST_F(JobTest, SparsityZeroIsNoCompressionToTheBit) {
  const json none = Train("zero-none", {});
  const json dense = Train("zero-dense", {"compression.dense.method=dct", "compression.dense.sparsity=0"});
  EXPECT_EQ(dense["fingerprint"], none["fingerprint"]);
  const json push = Train("zero-push", {"compression.push.method=dct", "compression.push.sparsity=0"});
  EXPECT_EQ(push["fingerprint"], none["fingerprint"]);
  const json sample = Train("zero-sample", {"compression.lookup.method=dct", "compression.lookup.sparsity=0"});
  EXPECT_EQ(sample["fingerprint"], none["fingerprint"]);
  const json change = Train("zero-change", {"compression.lookup={method: dct, scope: change, sparsity: 0, values: fp32}"});
  EXPECT_EQ(change["fingerprint"], none["fingerprint"]);
  const json packed = Train("zero-packed", {"compression.lookup={method: dct, scope: change, sparsity: 0, values: fp32, entropy: huffman}",
                                            "compression.push={method: dct, sparsity: 0, entropy: huffman}",
                                            "compression.dense={method: dct, sparsity: 0, entropy: huffman}"});
  EXPECT_EQ(packed["fingerprint"], none["fingerprint"]);
  // Plain sums each occurrence of a key at the server, in another order: equal to rounding.
  const json plain = Train("zero-plain", {"compression.lookup.method=plain", "compression.push.method=plain"});
  EXPECT_NEAR(plain["logloss"].get<double>(), none["logloss"].get<double>(), 1e-5);
}

TEST_F(JobTest, WorkersAndServersDoNotChangeTheCurve) {
  const json one = Train("curve-1-1", {"cluster.workers=1", "cluster.servers=1"});
  for (const auto& [workers, servers] : {std::pair(2, 1), std::pair(4, 3)}) {
    const json many = Train(absl::StrCat("curve-", workers, "-", servers),
                            {absl::StrCat("cluster.workers=", workers), absl::StrCat("cluster.servers=", servers)});
    EXPECT_NEAR(many["logloss"].get<double>(), one["logloss"].get<double>(), 1e-5);
    EXPECT_NEAR(many["auc"].get<double>(), one["auc"].get<double>(), 1e-3);
    EXPECT_EQ(many["samples"], one["samples"]);
  }
}

TEST_F(JobTest, ServersDoNotChangeABit) {
  const json one = Train("servers-1", {"cluster.servers=1"});
  const json three = Train("servers-3", {"cluster.servers=3"});
  EXPECT_EQ(one["fingerprint"], three["fingerprint"]);
}

// Ranges are handed out as asked for, so a worker may get nothing at all: the others must not wait for it.
TEST_F(JobTest, EndOfDataHangsNobody) {
  runner_->Generate("few.tsv", 700);
  const json result = runner_->Train("few", "few.tsv", {"cluster.workers=4", "training.batch_size=512", "data.test_last_rows=60"});
  EXPECT_EQ(result["samples"], 640);
  EXPECT_EQ(result["evaluation_samples"], 60);
}

TEST_F(JobTest, AsynchronousAndBoundedStalenessTrain) {
  for (const char* staleness : {"-1", "2"}) {
    const json result = runner_->Train(absl::StrCat("staleness", staleness), "rows.tsv",
                                       {absl::StrCat("training.staleness=", staleness), "training.prefetch=2"});
    EXPECT_EQ(result["samples"], 5500);
    EXPECT_TRUE(std::isfinite(result["logloss"].get<double>()));
  }
}

TEST_F(JobTest, FewerBytesWithCompression) {
  const json plain = Train("bytes-plain", AllCodecs()[1].sets);
  const json none = Train("bytes-none", {});
  const json dct = Train("bytes-dct", AllCodecs()[3].sets);
  EXPECT_LT(none["wire_bytes"]["lookup_reply"], plain["wire_bytes"]["lookup_reply"]);
  EXPECT_LT(dct["wire_bytes"]["push"], none["wire_bytes"]["push"]);
  EXPECT_LT(dct["wire_bytes"]["dense"].get<double>(), none["wire_bytes"]["dense"].get<double>() / 2);
}

}  // namespace
}  // namespace weir::testing
