// What a table's rows are asked for as: by its settings, the step, the guard, and its class.
#include "client/lookup_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/job_file.h"

namespace weir::client {
namespace {

const std::vector<TableInfo> kTables = {{"C1", 4}, {"C2", 4}, {"C3", 4}};

LookupPolicy Policy(const std::string& lookup) {
  const absl::StatusOr<Job> job = ParseJob(absl::StrCat("{data: {train: [a.tsv]}, compression: {lookup: ", lookup, "}}"), "job.yaml", {});
  EXPECT_TRUE(job.ok()) << job.status();
  absl::StatusOr<LookupPolicy> policy = LookupPolicy::Create(kTables, job->compression().lookup());
  EXPECT_TRUE(policy.ok()) << policy.status();
  return *std::move(policy);
}

TEST(LookupPolicyTest, ATableHasItsOwn) {
  const LookupPolicy policy = Policy("{method: fp16, tables: [{name: C2, method: int8_rowwise}, {name: C3, method: none}]}");
  EXPECT_EQ(policy.ReplyOf(0, 0).reply, LookupRequest::REPLY_FP16);
  EXPECT_EQ(policy.ReplyOf(1, 0).reply, LookupRequest::REPLY_INT8);
  EXPECT_EQ(policy.ReplyOf(2, 0).reply, LookupRequest::REPLY_FP32);
  EXPECT_FALSE(policy.holds_rows());
}

TEST(LookupPolicyTest, OnlyTablesOfChangesAreHeld) {
  const LookupPolicy policy =
      Policy("{method: dct, scope: change, values: int8, tables: [{name: C2, method: fp16}, {name: C3, sparsity: 0.5}]}");
  EXPECT_TRUE(policy.holds_rows(0) && !policy.holds_rows(1) && policy.holds_rows(2));
  EXPECT_TRUE(policy.holds_rows());
  EXPECT_EQ(policy.ReplyOf(0, 7).sparsity, 0.9);
  EXPECT_EQ(policy.ReplyOf(2, 7).sparsity, 0.5);
  EXPECT_EQ(policy.ReplyOf(2, 7).values, Compression::VALUES_INT8);
}

TEST(LookupPolicyTest, DensityFallsByEqualRatiosAndTheGuardRaisesIt) {
  LookupPolicy policy = Policy("{method: dct, scope: change, sparsity: 0.99, warmup_steps: 100}");
  EXPECT_EQ(policy.ReplyOf(0, 0).sparsity, 0);
  EXPECT_NEAR(1 - policy.ReplyOf(0, 50).sparsity, 0.1, 1e-12);
  EXPECT_NEAR(1 - policy.ReplyOf(0, 100).sparsity, 0.01, 1e-12);
  policy.SetDensityFactor(5);
  EXPECT_NEAR(1 - policy.ReplyOf(0, 100).sparsity, 0.05, 1e-12);
}

TEST(LookupPolicyTest, BoundsFallOverTheSteps) {
  const LookupPolicy policy =
      Policy("{method: error_bounded, error_bound: 0.02, error_bound_start: 4, error_bound_steps: 100, classes: none}");
  EXPECT_NEAR(policy.ReplyOf(0, 0).error_bound, 0.08, 1e-12);
  EXPECT_NEAR(policy.ReplyOf(0, 55).error_bound, 0.02 * (4 - 5 * 0.3), 1e-12);
  EXPECT_NEAR(policy.ReplyOf(0, 100).error_bound, 0.02, 1e-12);
  EXPECT_FALSE(policy.ReplyOf(0, 0).count_distinct);
}

TEST(LookupPolicyTest, ATableGetsItsClassFromWhatItsRowsBecome) {
  LookupPolicy policy =
      Policy("{method: error_bounded, error_bound: 0.03, error_bound_start: 1, classes: measured, tables: [{name: C3, error_bound: 0.2}]}");
  EXPECT_TRUE(policy.ReplyOf(0, 0).count_distinct);
  EXPECT_FALSE(policy.ReplyOf(0, 1).count_distinct);
  EXPECT_FALSE(policy.ReplyOf(2, 0).count_distinct) << "its bound was said";
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(policy.ReplyOf(0, 1).error_bound, 0.03);
    policy.Observe(0, 1000, 500);   // half of them collapse
    policy.Observe(1, 1000, 1000);  // none does
    policy.Observe(2, 1000, 500);
  }
  EXPECT_NEAR(policy.ReplyOf(0, 1).error_bound, 0.01, 1e-12);
  EXPECT_NEAR(policy.ReplyOf(1, 1).error_bound, 0.05, 1e-12);
  EXPECT_EQ(policy.ReplyOf(2, 1).error_bound, 0.2);
  for (int i = 0; i < 4; ++i) policy.Observe(0, 1000, 950);
  EXPECT_NEAR(policy.ReplyOf(0, 1).error_bound, 0.03, 1e-12);
}

TEST(LookupPolicyTest, AnUnknownTableIsNamed) {
  Compression::Lookup settings;
  settings.set_method(Compression::METHOD_FP16);
  settings.add_tables()->set_name("C9");
  EXPECT_NE(LookupPolicy::Create(kTables, settings).status().message().find("no table C9"), std::string::npos);
  settings.Clear();
  settings.set_method(Compression::METHOD_TOPK);
  EXPECT_FALSE(LookupPolicy::Create(kTables, settings).ok());
}

}  // namespace
}  // namespace weir::client
