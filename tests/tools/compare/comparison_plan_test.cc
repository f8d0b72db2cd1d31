#include "tools/compare/comparison_plan.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/job_file.h"
#include "tests/tools/report/fake_run.h"

namespace weir::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A request about a job file of a few lines.
CompareRequest RequestOf(const std::string& more = "") {
  CompareRequest request;
  request.job_file = testing::TempDir() + "/small.yaml";
  std::ofstream(request.job_file) << "data: {train: [rows.tsv]}\n" << more;
  request.seeds = 2;
  return request;
}

std::vector<std::string> NamesOf(const ComparisonPlan& plan) {
  std::vector<std::string> names;
  for (const Arm& arm : plan.comparison.arms) names.push_back(arm.name);
  return names;
}

std::string ErrorOf(const CompareRequest& request) { return std::string(PlanComparison(request).status().message()); }

TEST(ComparisonPlanTest, YardsticksThenTheGrid) {
  CompareRequest request = RequestOf("seed: 5\noutput: {dir: there}\n");
  request.varies = {"compression.dense.sparsity=0.9,0.999"};
  const auto plan = PlanComparison(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(NamesOf(*plan), ElementsAre("plain", "fp16", "dense.sparsity-0.9", "dense.sparsity-0.999"));
  EXPECT_TRUE(plan->comparison.arms[1].yardstick);
  EXPECT_FALSE(plan->comparison.arms[2].yardstick);
  EXPECT_EQ(plan->comparison.job, "small");
  EXPECT_EQ(plan->dir, "there/compare-small");
  EXPECT_THAT(plan->comparison.seeds, ElementsAre(5, 6));
  EXPECT_THAT(plan->comparison.varied, ElementsAre("compression.dense.sparsity"));
  for (const Arm& arm : plan->comparison.arms) {
    EXPECT_THAT(arm.refused, IsEmpty());
    EXPECT_EQ(arm.cells.size(), 2u);
  }
  EXPECT_EQ(plan->jobs[0].compression().lookup().method(), Compression::METHOD_PLAIN);
  EXPECT_EQ(plan->jobs[0].compression().push().method(), Compression::METHOD_PLAIN);
  EXPECT_EQ(plan->jobs[0].compression().dense().method(), Compression::METHOD_NONE);
  for (const auto method : {plan->jobs[1].compression().lookup().method(), plan->jobs[1].compression().push().method(),
                            plan->jobs[1].compression().dense().method()}) {
    EXPECT_EQ(method, Compression::METHOD_FP16);
  }
  EXPECT_EQ(plan->jobs[3].compression().dense().sparsity(), 0.999);

  const Cell& cell = plan->comparison.arms[3].cells[1];
  const Job job = JobOfCell(*plan, 3, cell);
  EXPECT_EQ(job.name(), "dense.sparsity-0.999-6");
  EXPECT_EQ(job.name(), cell.folder);
  EXPECT_EQ(job.seed(), 6u);
  EXPECT_EQ(job.output().dir(), "there/compare-small");
}

TEST(ComparisonPlanTest, SetsHoldForAllArmsAndOutForTheFolder) {
  CompareRequest request = RequestOf();
  request.sets = {"training.epochs=3", "name=other", "seed=7"};
  request.out = "elsewhere";
  request.seeds = 1;
  const auto plan = PlanComparison(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(NamesOf(*plan), ElementsAre("plain", "fp16", "job"));
  for (const Job& job : plan->jobs) EXPECT_EQ(job.training().epochs(), 3u);
  EXPECT_EQ(plan->comparison.job, "other");
  EXPECT_EQ(plan->dir, "elsewhere");
  EXPECT_THAT(plan->comparison.seeds, ElementsAre(7));
}

TEST(ComparisonPlanTest, WithoutYardsticksTheGridAlone) {
  CompareRequest request = RequestOf();
  request.varies = {"training.epochs=1,2"};
  request.yardsticks = false;
  EXPECT_THAT(NamesOf(*PlanComparison(request)), ElementsAre("training.epochs-1", "training.epochs-2"));
}

TEST(ComparisonPlanTest, ARefusedCombinationKeepsItsReasonAndTheRestGoesOn) {
  CompareRequest request = RequestOf();
  request.varies = {"compression.lookup.method=fp16,plain", "compression.push.method=none,plain"};
  const auto plan = PlanComparison(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->comparison.arms.size(), 6u);
  EXPECT_THAT(plan->comparison.arms[2].refused, IsEmpty());
  for (const size_t arm : {3, 4}) {
    EXPECT_THAT(plan->comparison.arms[arm].refused, HasSubstr("lookup and push together"));
    EXPECT_THAT(plan->comparison.arms[arm].cells, IsEmpty());
  }
  EXPECT_THAT(plan->comparison.arms[5].refused, IsEmpty());
}

// A wrong value is one arm's matter, too, and its reason does not speak of a --set that nobody wrote.
TEST(ComparisonPlanTest, AWrongValueRefusesItsArm) {
  CompareRequest request = RequestOf();
  request.varies = {"compression.dense.sparsity=0.9,1.5"};
  const auto plan = PlanComparison(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->comparison.arms[3].refused, StartsWith("compression.dense.sparsity: must be at least 0 and below 1"));
}

TEST(ComparisonPlanTest, TheSameJobRunsOnce) {
  CompareRequest request = RequestOf("compression: {lookup: {method: plain}, push: {method: plain}}\n");
  request.varies = {"compression.dense.method=none,dct"};
  const auto plan = PlanComparison(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(NamesOf(*plan), ElementsAre("plain", "fp16", "dense.method-dct"));
  EXPECT_THAT(plan->comparison.arms[0].same, ElementsAre("compression.dense.method=none"));
  EXPECT_EQ(plan->jobs.size(), plan->comparison.arms.size());
}

TEST(ComparisonPlanTest, SaysWhatIsWrongBeforeAnything) {
  CompareRequest request = RequestOf();
  request.varies = {"training.epochs=1,2", "compression.dense.sparsty=0.9"};
  EXPECT_THAT(ErrorOf(request), AllOf(HasSubstr("--vary"), HasSubstr("sparsty"), HasSubstr("sparsity")));
  request.varies = {"data.train.x=1"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("data.train"));
  request.varies = {"compression.dense.sparsity=1.5,many"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("at least 0 and below 1"));
  request.varies = {};
  request.seeds = 0;
  EXPECT_THAT(ErrorOf(request), HasSubstr("--seeds"));
  request.seeds = 1;
  request.job_file = "nowhere.yaml";
  EXPECT_THAT(ErrorOf(request), HasSubstr("nowhere.yaml"));
}

TEST(ComparisonPlanTest, FindsResultsOfExactlyTheSameJob) {
  CompareRequest request = RequestOf();
  request.out = testing::TempDir() + "/found";
  std::filesystem::remove_all(request.out);
  auto plan = PlanComparison(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto leave = [&](size_t arm, size_t seed, const std::string& hash) {
    const std::string dir = request.out + "/" + plan->comparison.arms[arm].cells[seed].folder;
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/result.json") << absl::StrReplaceAll(kFakeResult, {{"00c0ffee", hash}});
  };
  const auto hash = [&](size_t arm, size_t seed) {
    return absl::StrFormat("%016x", JobHash(JobOfCell(*plan, arm, plan->comparison.arms[arm].cells[seed])));
  };
  leave(0, 0, hash(0, 0));
  leave(0, 1, hash(0, 0));  // another seed's
  leave(1, 0, "garbage\"");
  FindFinishedCells(&*plan);
  const std::vector<Arm>& arms = plan->comparison.arms;
  EXPECT_EQ(arms[0].cells[0].state, Cell::State::kDone);
  EXPECT_EQ(arms[0].cells[0].result.logloss, 0.45);
  EXPECT_EQ(arms[0].cells[1].state, Cell::State::kToRun);
  EXPECT_EQ(arms[1].cells[0].state, Cell::State::kToRun);

  // The same folders for a job that changed.
  request.sets = {"training.epochs=2"};
  auto changed = PlanComparison(request);
  FindFinishedCells(&*changed);
  EXPECT_EQ(changed->comparison.arms[0].cells[0].state, Cell::State::kToRun);
}

}  // namespace
}  // namespace weir::tools
