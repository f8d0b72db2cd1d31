// Sample scope against a scalar reference of the paper's Algorithm 2: pool, keep what reaches the sample's own threshold, send the gradient
// back in the same mask.
#include "server/service/sample_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compression/threshold.h"
#include "server/service/data_plane.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr uint32_t kDim = 2;

std::unique_ptr<DataPlane> Make() {
  EmbeddingServerOptions options;
  options.job = SmallJob{kDim}.Make();
  options.job_hash = kJobHash;
  return *DataPlane::Create(options);
}

// The bags of one feature: bags[sample] holds indices of the table's keys.
struct Feature {
  uint32_t slot = 0;
  std::vector<std::vector<uint32_t>> bags;
};

struct Batch {
  std::vector<std::vector<Key>> keys;  // of table `slot`, by slot
  std::vector<Feature> features;
  uint32_t samples = 0;
  double sparsity = 0;
};

LookupRequest RequestOf(const Batch& batch) {
  std::vector<TableKeys> tables;
  for (uint32_t slot = 0; slot < batch.keys.size(); ++slot) tables.push_back(KeysOf(slot, batch.keys[slot]));
  LookupRequest request = LookupOf(0, tables);
  request.set_reply(LookupRequest::REPLY_POOLED_DCT);
  request.set_samples(batch.samples);
  request.set_sparsity(batch.sparsity);
  for (const Feature& feature : batch.features) {
    FeatureBags* const bags = request.add_bags();
    bags->set_table_slot(feature.slot);
    std::vector<uint32_t> counts, indices;
    for (const std::vector<uint32_t>& bag : feature.bags) {
      counts.push_back(static_cast<uint32_t>(bag.size()));
      indices.insert(indices.end(), bag.begin(), bag.end());
    }
    compression::EncodeVarints(counts, bags->mutable_counts());
    compression::EncodeVarints(indices, bags->mutable_indices());
  }
  return request;
}

// One entry of the pooled vectors: where it comes from.
struct Entry {
  float value = 0;
  bool kept = false;
  uint32_t slot = 0;
  uint32_t dimension = 0;
  std::vector<uint32_t> keys;
};

std::vector<Entry> Reference(const DataPlane& plane, const Batch& batch) {
  std::vector<Entry> all;
  for (uint32_t sample = 0; sample < batch.samples; ++sample) {
    std::vector<Entry> entries;
    for (const Feature& feature : batch.features) {
      const std::vector<uint32_t>& bag = feature.bags[sample];
      if (bag.empty()) continue;
      for (uint32_t d = 0; d < kDim; ++d) {
        Entry entry{0, false, feature.slot, d, bag};
        for (uint32_t key : bag) entry.value += RowsOf(plane, feature.slot, {batch.keys[feature.slot][key]})[d];
        entries.push_back(entry);
      }
    }
    std::vector<float> magnitudes;
    for (const Entry& entry : entries) magnitudes.push_back(std::abs(entry.value));
    std::sort(magnitudes.begin(), magnitudes.end());
    const size_t rank = static_cast<size_t>(std::floor(entries.size() * batch.sparsity));
    const float threshold = rank == 0 ? 0 : magnitudes[rank - 1];
    for (Entry& entry : entries) entry.kept = std::abs(entry.value) >= threshold && entry.value != 0;
    all.insert(all.end(), entries.begin(), entries.end());
  }
  return all;
}

Batch RandomBatch(double sparsity) {
  std::mt19937_64 random(9);
  Batch batch;
  batch.samples = 40;
  batch.sparsity = sparsity;
  batch.keys.resize(3);
  for (std::vector<Key>& keys : batch.keys) {
    std::set<Key> distinct;
    while (distinct.size() < 15) distinct.insert(random());
    keys.assign(distinct.begin(), distinct.end());
  }
  for (uint32_t slot : {0u, 1u, 2u, 1u}) {  // two features share a table
    Feature feature;
    feature.slot = slot;
    for (uint32_t sample = 0; sample < batch.samples; ++sample) {
      std::vector<uint32_t> bag(random() % 4);  // empty and repeated ones too
      for (uint32_t& key : bag) key = random() % 15;
      feature.bags.push_back(bag);
    }
    batch.features.push_back(feature);
  }
  return batch;
}

class SampleScopeTest : public testing::TestWithParam<double> {};

TEST_P(SampleScopeTest, ForwardAndBackwardAgreeWithTheReference) {
  const Batch batch = RandomBatch(GetParam());
  const std::unique_ptr<DataPlane> plane = Make();
  const std::vector<Entry> entries = Reference(*plane, batch);
  LookupReply lookup_reply;
  ASSERT_TRUE(Lookup(*plane, RequestOf(batch), &lookup_reply).ok());
  const std::vector<float> pooled = Decode(lookup_reply.pooled_frame(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) ASSERT_EQ(pooled[i], entries[i].kept ? entries[i].value : 0.0f) << i;

  std::vector<float> values;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<float>> gradients;  // by slot and key index
  for (const Entry& entry : entries) {
    if (!entry.kept) continue;
    values.push_back(0.5f + static_cast<float>(values.size() % 7));
    for (uint32_t key : entry.keys) {
      std::vector<float>& gradient = gradients.try_emplace({entry.slot, key}, kDim, 0.0f).first->second;
      gradient[entry.dimension] += values.back();
    }
  }
  std::vector<std::vector<float>> expected;
  for (uint32_t slot = 0; slot < 3; ++slot) {
    expected.push_back(RowsOf(*plane, slot, batch.keys[slot]));
    for (uint32_t key = 0; key < 15; ++key) {
      const auto gradient = gradients.find({slot, key});
      for (uint32_t d = 0; gradient != gradients.end() && d < kDim; ++d) expected[slot][key * kDim + d] -= gradient->second[d];
    }
  }
  PushRequest push = PushOf(0);
  push.set_ticket(true);
  ASSERT_TRUE(compression::EncodeImplied(values, compression::ValueType::kFp32, push.mutable_pooled_frame()).ok());
  PushReply reply;
  ASSERT_TRUE(Push(*plane, push, &reply).ok());
  for (uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(RowsOf(*plane, slot, batch.keys[slot]), expected[slot]);
  EXPECT_EQ(plane->tables().rows(), gradients.size()) << "keys of which nothing was kept get no row";
}

INSTANTIATE_TEST_SUITE_P(Sparsities, SampleScopeTest, testing::Values(0.0, 0.5, 0.75, 0.9, 0.99));

TEST(SampleScopePush, NothingSentNeedsNoFrame) {
  Batch empty;
  empty.keys.resize(1);
  const std::unique_ptr<DataPlane> plane = Make();
  LookupReply lookup_reply;
  ASSERT_TRUE(Lookup(*plane, RequestOf(empty), &lookup_reply).ok());
  EXPECT_EQ(compression::DecodeHeader(lookup_reply.pooled_frame())->size, 0u);
  PushRequest push = PushOf(0);
  push.set_ticket(true);
  PushReply reply;
  EXPECT_TRUE(Push(*plane, push, &reply).ok());
  EXPECT_EQ(plane->Describe().applied_step(), 0);
}

TEST(SampleScopePush, RefusesWhatTheMaskDoesNotFit) {
  const std::unique_ptr<DataPlane> plane = Make();
  LookupReply lookup_reply;
  ASSERT_TRUE(Lookup(*plane, RequestOf(RandomBatch(0.5)), &lookup_reply).ok());
  PushRequest push = PushOf(0);
  push.set_ticket(true);
  PushReply reply;
  EXPECT_THAT(std::string(Push(*plane, push, &reply).message()), HasSubstr("entries that the lookup kept"));
  ASSERT_TRUE(compression::EncodeImplied({1, 2, 3}, compression::ValueType::kFp32, push.mutable_pooled_frame()).ok());
  EXPECT_THAT(std::string(Push(*plane, push, &reply).message()), HasSubstr("pooled_frame"));
  *push.add_tables() = GradientsOf(0, {1, 2});
  EXPECT_THAT(std::string(Push(*plane, push, &reply).message()), HasSubstr("tables"));
  EXPECT_EQ(plane->tables().rows(), 0u);
}

struct Refusal {
  std::string name;
  std::function<void(LookupRequest*)> spoil;
  absl::StatusCode code;
  std::string message;
};

class SampleScopeRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(SampleScopeRefusalTest, SaysWhatIsWrong) {
  LookupRequest request = RequestOf(RandomBatch(0.5));
  GetParam().spoil(&request);
  LookupReply reply;
  const absl::Status status = Lookup(*Make(), request, &reply);
  EXPECT_EQ(status.code(), GetParam().code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

INSTANTIATE_TEST_SUITE_P(
    All, SampleScopeRefusalTest,
    testing::Values(Refusal{"Sparsity", [](LookupRequest* r) { r->set_sparsity(1); }, kInvalid, "sparsity: 1"},
                    Refusal{"SparsityNan", [](LookupRequest* r) { r->set_sparsity(NAN); }, kInvalid, "sparsity"},
                    Refusal{"Samples", [](LookupRequest* r) { r->set_samples(41); }, kInvalid, "bags 0, counts"},
                    Refusal{"SamplesPastLimit", [](LookupRequest* r) { r->set_samples(1u << 31); }, absl::StatusCode::kResourceExhausted,
                            "samples: 2147483648"},
                    Refusal{"Slot", [](LookupRequest* r) { r->mutable_bags(2)->set_table_slot(3); }, kInvalid, "bags 2, table_slot: 3"},
                    Refusal{"Index",
                            [](LookupRequest* r) {
                              FeatureBags* const bags = r->mutable_bags(1);
                              bags->set_counts(std::string(40, '\1'));
                              bags->set_indices(std::string(39, '\0') + '\17');
                            },
                            kInvalid, "bags 1, indices: index 15 at 39"},
                    Refusal{"IndicesTooFew", [](LookupRequest* r) { r->mutable_bags(3)->mutable_indices()->pop_back(); }, kInvalid,
                            "bags 3, indices"},
                    Refusal{"CountsPastLimit",
                            [](LookupRequest* r) {
                              r->mutable_bags(0)->clear_counts();
                              compression::EncodeVarints(std::vector<uint32_t>(40, 1u << 31), r->mutable_bags(0)->mutable_counts());
                            },
                            absl::StatusCode::kResourceExhausted, "counts: 85899345920"}),
    [](const auto& info) { return info.param.name; });

// One threshold for the call, from mean and variance: samples may keep all or nothing. The push goes by the same mask.
TEST(LaplaceSampleScopeTest, KeepsWhatReachesTheCallsThreshold) {
  const auto plane = Make();
  Batch batch;
  batch.keys = {{1, 2, 3, 4, 5, 6, 7, 8}};
  batch.samples = 8;
  batch.sparsity = 0.6;
  batch.features = {{0, {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}}};
  LookupRequest request = RequestOf(batch);
  request.set_threshold(Compression::THRESHOLD_LAPLACE);
  LookupReply reply;
  ASSERT_TRUE(Lookup(*plane, request, &reply).ok());
  std::vector<float> expected = RowsOf(*plane, 0, batch.keys[0]);
  const float threshold = compression::LaplaceThreshold(expected, 0.6);
  size_t kept = 0;
  for (float& value : expected) {
    if (std::fabs(value) < threshold) value = 0;
    kept += value != 0;
  }
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, expected.size());
  EXPECT_EQ(Decode(reply.pooled_frame(), expected.size()), expected);
}

}  // namespace
}  // namespace weir::server
