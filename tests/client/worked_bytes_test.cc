// The bytes of one crafted step, field by field, against a calculation by hand: one server, one table of 4 columns, 4 samples whose keys
// are 1, 1, 2, 300.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/grpc_endpoint.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"
#include "server/embedding_server.h"

namespace weir::client {
namespace {

constexpr uint32_t kDim = 4;
constexpr uint32_t kSamples = 4;
constexpr uint64_t kRows = 3;  // unique
constexpr uint64_t kEntries = kRows * kDim;

// Of a frame: magic, version, layout and type; a byte each for size and kept; checksum. int8 frames say their block, too.
constexpr uint64_t kHeader = 4 + 1 + 1 + 4;
constexpr uint64_t kInt8Header = kHeader + 1;
// Of steps: also the step, and the lowest multiple in a byte.
constexpr uint64_t kStepsHeader = kInt8Header + 2 + 1;
constexpr uint64_t kSectionSize = 1;
// Differences of sorted keys 1, 2, 300 as varints.
constexpr uint64_t kSortedKeys = 1 + 1 + 2;
// Rice codes, behind a byte: of gaps 1, 0, 297 with 6, 5 and 5 bits as they are and 1, 1 and 10 bits in front; of the numbers 0, 1, 2, a
// bit each.
constexpr uint64_t kRiceKeys = 1 + (7 + 6 + 15 + 7) / 8;
constexpr uint64_t kRiceNumbers = 1 + 1;
// At 75 % sparsity the threshold is the 9th smallest of 12 magnitudes: it and the three larger ones go. A bitmap is shorter than four gaps.
constexpr uint64_t kKept = 12 - 9 + 1;
constexpr uint64_t kBitmap = (12 + 7) / 8;

struct Bytes {
  uint64_t keys = 0, masks = 0, values = 0, headers = 0;
  bool operator==(const Bytes& other) const {
    return keys == other.keys && masks == other.masks && values == other.values && headers == other.headers;
  }
};
void PrintTo(const Bytes& bytes, std::ostream* out) {
  *out << "keys " << bytes.keys << ", masks " << bytes.masks << ", values " << bytes.values << ", headers " << bytes.headers;
}

struct Case {
  std::string name;
  std::string compression;  // YAML
  Bytes lookup, push;       // of the first step
  Bytes again;              // of the lookup of a second one
};
void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class WorkedBytesTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const absl::StatusOr<Job> job = ParseJob(
        absl::StrCat("{data: {train: [a.tsv]}, embeddings: {dim: 4, optimizer: {type: sgd, learning_rate: 0.5}, initializer: {scale: 1}},"
                     " training: {gradient_scale: sum}, cluster: {servers: 1, workers: 1}, compression: ",
                     GetParam().compression, "}"),
        "job.yaml", {});
    ASSERT_TRUE(job.ok()) << job.status();
    ClientOptions options;
    options.job_hash = JobHash(*job);
    ASSERT_TRUE(server_.Start({*job, options.job_hash}).ok());
    auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {server_.service()});
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
    options.servers = {endpoint_->address()};
    auto client = Client::Connect(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    auto bags = EmbeddingBags::Create(client_.get(), {kDim, job->compression()});
    ASSERT_TRUE(bags.ok()) << bags.status();
    bags_ = *std::move(bags);
  }

  void Step(int64_t step) {
    const std::vector<FeatureKeys> features = {{0, {1, 1, 2, 300}, {}}};
    auto lookup = bags_->StartLookup(step, LookupRequest::PURPOSE_TRAIN, kSamples, features);
    ASSERT_TRUE(lookup.ok()) << lookup.status();
    std::vector<float> pooled(kSamples * kDim);
    ASSERT_TRUE((*lookup)->Wait(absl::MakeSpan(pooled)).ok());
    std::vector<float> gradient(kSamples * kDim);  // no two magnitudes are alike
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>((i % 2 == 0 ? 1 : -1) * (1.0 + 0.37 * i));
    auto push = bags_->StartPush(lookup->get(), gradient);
    ASSERT_TRUE(push.ok()) << push.status();
    ASSERT_TRUE((*push)->Wait().ok());
  }

  Bytes Taken(const std::string& edge) {
    Bytes bytes;
    for (const CodecStats& stats : taken_) {
      if (stats.edge != edge) continue;
      bytes.keys += stats.key_bytes;
      bytes.masks += stats.bytes.mask;
      bytes.values += stats.bytes.values;
      bytes.headers += stats.bytes.header;
    }
    return bytes;
  }

  server::EmbeddingServer server_;
  std::unique_ptr<GrpcEndpoint> endpoint_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<EmbeddingBags> bags_;
  std::vector<CodecStats> taken_;
};

TEST_P(WorkedBytesTest, EveryFieldIsAsCalculated) {
  Step(0);
  taken_ = bags_->TakeStats();
  EXPECT_EQ(Taken("lookup"), GetParam().lookup);
  EXPECT_EQ(Taken("push"), GetParam().push);
  Step(1);
  taken_ = bags_->TakeStats();
  EXPECT_EQ(Taken("lookup"), GetParam().again);
}

Bytes Fp32(uint64_t keys) { return {keys, 0, kEntries * 4, kHeader}; }
const Bytes kNonePush = {0, 0, kEntries * 4, kHeader};
const Bytes kHalves = {kSortedKeys, 0, kEntries * 2, kHeader};
// A byte an entry and one for each row's scale.
const Bytes kInt8Rows = {kSortedKeys, 0, kEntries + kRows, kInt8Header};
// Plain sends a key of 8 bytes and a row for each of the 4 samples, both ways.
const Bytes kPlainLookup = {kSamples * 8, 0, kSamples* kDim * 4, kHeader};

INSTANTIATE_TEST_SUITE_P(
    Codecs, WorkedBytesTest,
    testing::Values(Case{"plain", "{lookup: {method: plain}, push: {method: plain}}", kPlainLookup, kPlainLookup, kPlainLookup},
                    Case{"none", "{lookup: {method: none}, push: {method: none}}", Fp32(kSortedKeys), kNonePush, Fp32(kSortedKeys)},
                    Case{"fp16", "{lookup: {method: fp16}, push: {method: fp16}}", kHalves, {0, 0, kEntries * 2, kHeader}, kHalves},
                    Case{"bf16", "{lookup: {method: bf16}, push: {method: bf16}}", kHalves, {0, 0, kEntries * 2, kHeader}, kHalves},
                    Case{"int8_rowwise", "{lookup: {method: int8_rowwise}, push: {method: none}}", kInt8Rows, kNonePush, kInt8Rows},
                    Case{"push_dct",
                         "{lookup: {method: none}, push: {method: dct, sparsity: 0.75}}",
                         Fp32(kSortedKeys),
                         {0, kBitmap, kKept * 4, kHeader},
                         Fp32(kSortedKeys)},
                    Case{"push_dct_fp16",
                         "{lookup: {method: none}, push: {method: dct, sparsity: 0.75, values: fp16}}",
                         Fp32(kSortedKeys),
                         {0, kBitmap, kKept * 2, kHeader},
                         Fp32(kSortedKeys)},
                    // Four values share one scale.
                    Case{"push_dct_int8",
                         "{lookup: {method: none}, push: {method: dct, sparsity: 0.75, values: int8}}",
                         Fp32(kSortedKeys),
                         {0, kBitmap, kKept + 1, kInt8Header},
                         Fp32(kSortedKeys)},
                    // The edge is fp16, this table is not.
                    Case{"push_of_its_own",
                         "{lookup: {method: none}, push: {method: fp16, tables: [{name: C1, method: dct, sparsity: 0.75}]}}",
                         Fp32(kSortedKeys),
                         {0, kBitmap, kKept * 4, kHeader},
                         Fp32(kSortedKeys)},
                    // New rows go by key; that they are what they were at first is a bit each, in a section of two bytes. Then they go by
                    // their numbers 0, 1, 2, a byte each, and what has moved past the threshold.
                    Case{"change",
                         "{lookup: {method: dct, scope: change, sparsity: 0.75, values: int8}, push: {method: none}}",
                         {kSortedKeys, kSectionSize + 1, 0, 0},
                         kNonePush,
                         {3, kBitmap, kKept + 1, kInt8Header}},
                    Case{"change_fp8",
                         "{lookup: {method: dct, scope: change, sparsity: 0.75, values: fp8}, push: {method: none}}",
                         {kSortedKeys, kSectionSize + 1, 0, 0},
                         kNonePush,
                         {3, kBitmap, kKept, kHeader}},
                    // Rice codes of keys and numbers. Masks and values are too few to shrink.
                    Case{"change_packed",
                         "{lookup: {method: dct, scope: change, sparsity: 0.75, values: int8, entropy: huffman}, push: {method: none}}",
                         {kRiceKeys, kSectionSize + 1, 0, 0},
                         kNonePush,
                         {kRiceNumbers, kBitmap, kKept + 1, kInt8Header}},
                    // A code of a byte for each entry: so slow a link asks for the fewest bytes, and so few entries do not shrink.
                    Case{"error_bounded",
                         "{lookup: {method: error_bounded, error_bound: 0.003, link_gbits: 0.000001}, push: {method: none}}",
                         {kSortedKeys, 0, kEntries, kStepsHeader},
                         kNonePush,
                         {kSortedKeys, 0, kEntries, kStepsHeader}},
                    Case{"lookup_of_its_own", "{lookup: {method: none, tables: [{name: C1, method: fp16}]}, push: {method: none}}", kHalves,
                         kNonePush, kHalves},
                    Case{"push_dct_fp8",
                         "{lookup: {method: none}, push: {method: dct, sparsity: 0.75, values: fp8}}",
                         Fp32(kSortedKeys),
                         {0, kBitmap, kKept, kHeader},
                         Fp32(kSortedKeys)},
                    // Beside the keys, each sample says how many keys its bag has and which. At 50 % the threshold of a sample is the 2nd
                    // smallest of its 4 entries, so 3 go. The push has neither keys nor mask.
                    Case{"sample",
                         "{lookup: {method: dct, scope: sample, sparsity: 0.5}}",
                         {kSortedKeys + kSamples + kSamples, kSamples* kDim / 8, kSamples * 3 * 4, kHeader},
                         {0, 0, kSamples * 3 * 4, kHeader},
                         {kSortedKeys + kSamples + kSamples, kSamples* kDim / 8, kSamples * 3 * 4, kHeader}}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace weir::client
