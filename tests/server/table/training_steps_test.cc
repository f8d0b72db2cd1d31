#include "server/table/training_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/limits.h"
#include "server/table/table_registry.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

constexpr Key kKey = 17;

// A lookup that may wait; what it got, and when asked, waits for that with a deadline.
class Waiting {
 public:
  Waiter At(int64_t step, absl::Duration timeout = absl::Seconds(20)) {
    Waiter waiter;
    waiter.owner = this;
    waiter.step = step;
    waiter.deadline = absl::Now() + timeout;
    waiter.resume = [this](absl::Status status) {
      MutexLock lock(&mu_);
      status_ = std::move(status);
      changed_.NotifyAll();
    };
    return waiter;
  }
  bool resumed() {
    MutexLock lock(&mu_);
    return status_.has_value();
  }
  absl::Status Wait() {
    MutexLock lock(&mu_);
    changed_.WaitUntil(&mu_, absl::Now() + absl::Seconds(20), [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return status_.has_value(); });
    return status_.value_or(absl::InternalError("was never resumed"));
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mu_);
};

struct Server {
  explicit Server(const SmallJob& job) : tables(*TableRegistry::Create(job.Make(), 0, 1)), steps(OptionsOf(job), tables.get()) {}

  static TrainingStepsOptions OptionsOf(const SmallJob& job) {
    TrainingStepsOptions options;
    options.workers = job.workers;
    options.training = job.Make().training();
    return options;
  }
  // How far the first weight of the row has moved from its initial value, up.
  float Moved(Key key = kKey) const {
    float now[2], initial[2];
    EXPECT_TRUE(tables->at(0).Lookup({key}, now).ok());
    EXPECT_TRUE((*TableRegistry::Create(SmallJob().Make(), 0, 1))->at(0).Lookup({key}, initial).ok());
    return now[0] - initial[0];
  }

  std::unique_ptr<TableRegistry> tables;
  TrainingSteps steps;
};

// A push that moves the first weight of a row by `up` under SGD of rate 1 and scale 1.
PushPart Part(uint32_t worker_rank, int64_t step, float up, std::vector<Key> keys = {kKey}) {
  PushPart part;
  part.id.worker_rank = worker_rank;
  part.id.incarnation = 100 + worker_rank;
  part.id.step = step;
  part.samples = 4;
  GradientRows rows;
  rows.table = 0;
  rows.distinct = true;
  for (Key key : keys) {
    rows.keys.push_back(key);
    rows.gradients.insert(rows.gradients.end(), {-up, 0});
  }
  part.tables.push_back(std::move(rows));
  return part;
}

PushReply::Outcome Accept(Server* server, PushPart part) {
  absl::StatusOr<TrainingSteps::Accepted> accepted = server->steps.Accept(std::move(part));
  EXPECT_TRUE(accepted.ok()) << accepted.status();
  for (const auto& resume : accepted->released) resume();
  return accepted->outcome;
}

TEST(TrainingStepsTest, AStepIsAppliedWhenAllWorkersHavePushed) {
  Server server(SmallJob{2, 2});
  EXPECT_EQ(Accept(&server, Part(1, 0, 2)), PushReply::OUTCOME_ACCEPTED);
  EXPECT_EQ(server.Moved(), 0);
  EXPECT_EQ(server.tables->rows(), 0u);
  EXPECT_EQ(server.steps.applied_step(), -1);
  EXPECT_EQ(Accept(&server, Part(0, 0, 1)), PushReply::OUTCOME_ACCEPTED);
  EXPECT_FLOAT_EQ(server.Moved(), 3);
  EXPECT_EQ(server.steps.applied_step(), 0);
}

TEST(TrainingStepsTest, AppliesExactlyOnce) {
  Server server(SmallJob{2, 2});
  Accept(&server, Part(0, 0, 1));
  EXPECT_EQ(Accept(&server, Part(0, 0, 1)), PushReply::OUTCOME_DUPLICATE);
  EXPECT_TRUE(server.steps.Seen(Part(0, 0, 1).id));
  Accept(&server, Part(1, 0, 1));
  EXPECT_EQ(Accept(&server, Part(1, 0, 1)), PushReply::OUTCOME_DUPLICATE) << "of an applied step";
  EXPECT_FLOAT_EQ(server.Moved(), 2);
}

TEST(TrainingStepsTest, MeanDividesByTheSamplesOfAllWorkers) {
  SmallJob job{2, 2};
  job.gradient_scale = Training::GRADIENT_SCALE_MEAN;
  Server server(job);
  Accept(&server, Part(0, 0, 12));
  PushPart two_parts = Part(1, 0, 12);
  two_parts.samples = 8;
  two_parts.parts = 2;
  PushPart second = two_parts;
  second.id.part = 1;
  second.tables.clear();
  Accept(&server, two_parts);
  Accept(&server, second);
  EXPECT_FLOAT_EQ(server.Moved(), 24.0f / (4 + 8));
}

TEST(TrainingStepsTest, AStepWithoutSamplesIsAppliedAsNothing) {
  Server server(SmallJob{});
  PushPart empty = Part(0, 0, 5);
  empty.samples = 0;
  Accept(&server, empty);
  EXPECT_EQ(server.steps.applied_step(), 0);
  EXPECT_EQ(server.tables->rows(), 0u);
}

TEST(TrainingStepsTest, OneOptimizerStepForARowWhateverTheNumberOfWorkers) {
  SmallJob job{2, 3};
  job.optimizer = Optimizer::TYPE_ADAM;
  Server many(job);
  for (uint32_t rank = 0; rank < 3; ++rank) Accept(&many, Part(rank, 0, 1));
  job.workers = 1;
  Server one(job);
  Accept(&one, Part(0, 0, 3));
  EXPECT_EQ(many.tables->Fingerprint(), one.tables->Fingerprint());
}

// Invariant 6: the order of arrival has no influence on a single bit.
TEST(TrainingStepsTest, PermutedArrivalGivesTheSameBits) {
  SmallJob job{2, 4};
  job.optimizer = Optimizer::TYPE_ROWWISE_ADAGRAD;
  std::vector<PushPart> pushes;
  std::mt19937_64 random(5);
  for (int64_t step = 0; step < 6; ++step) {
    for (uint32_t rank = 0; rank < 4; ++rank) {
      for (uint32_t part = 0; part < 2; ++part) {
        std::vector<Key> keys;
        for (Key key = 0; key < 40; ++key) {
          if (random() % 2 == 0) keys.push_back(key);
        }
        PushPart push = Part(rank, step, 0, keys);
        push.id.part = part;
        push.parts = 2;
        for (float& g : push.tables[0].gradients) g = static_cast<float>(random() % 100000) * 1e-4f + 0.1f;
        pushes.push_back(push);
      }
    }
  }
  std::optional<uint64_t> fingerprint;
  for (int run = 0; run < 5; ++run) {
    std::shuffle(pushes.begin(), pushes.end(), random);
    Server server(job);
    for (const PushPart& push : pushes) Accept(&server, push);
    ASSERT_EQ(server.steps.applied_step(), 5);
    EXPECT_EQ(fingerprint.value_or(server.tables->Fingerprint()), server.tables->Fingerprint());
    fingerprint = server.tables->Fingerprint();
  }
}

TEST(TrainingStepsTest, LookupsWaitForTheStepBefore) {
  Server server(SmallJob{2, 2});
  Waiting first, second;
  server.steps.WaitToTrain(first.At(0));
  EXPECT_TRUE(first.resumed());
  server.steps.WaitToTrain(second.At(1));
  Accept(&server, Part(0, 0, 1));
  EXPECT_FALSE(second.resumed());
  Accept(&server, Part(1, 0, 1));
  EXPECT_TRUE(second.Wait().ok());
}

TEST(TrainingStepsTest, StalenessLetsLookupsRunAhead) {
  SmallJob job;
  job.staleness = 2;
  Server server(job);
  Waiting third, fourth;
  server.steps.WaitToTrain(third.At(2));
  EXPECT_TRUE(third.resumed());
  server.steps.WaitToTrain(fourth.At(3));
  EXPECT_FALSE(fourth.resumed());
  Accept(&server, Part(0, 0, 1));
  EXPECT_TRUE(fourth.Wait().ok());
}

TEST(TrainingStepsTest, ADeadlineNamesStepAndMissingRanks) {
  Server server(SmallJob{2, 4});
  Accept(&server, Part(0, 0, 1));
  Accept(&server, Part(2, 0, 1));
  Waiting waiting;
  server.steps.WaitToTrain(waiting.At(1, absl::Milliseconds(1)));
  const absl::Status status = waiting.Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("step 0 still lacks pushes of worker ranks 1, 3"));
}

TEST(TrainingStepsTest, AnEarlierDeadlineIsNotHeldUpByALaterOne) {
  Server server(SmallJob{2, 2});
  Waiting late;
  server.steps.WaitToTrain(late.At(1, absl::Hours(1)));
  // The thread of deadlines has gone to sleep until the late one before most of these.
  for (int i = 0; i < 20; ++i) {
    Waiting early;
    server.steps.WaitToTrain(early.At(1, absl::Milliseconds(1)));
    ASSERT_EQ(early.Wait().code(), absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_FALSE(late.resumed());
  server.steps.Stop();
  EXPECT_EQ(late.Wait().code(), absl::StatusCode::kUnavailable);
  Waiting after;
  server.steps.WaitToTrain(after.At(0));
  EXPECT_EQ(after.Wait().code(), absl::StatusCode::kUnavailable);
}

TEST(TrainingStepsTest, ACancelledLookupLeaves) {
  Server server(SmallJob{});
  Waiting waiting;
  server.steps.WaitToTrain(waiting.At(1));
  server.steps.Cancel(&waiting);
  EXPECT_EQ(waiting.Wait().code(), absl::StatusCode::kCancelled);
  server.steps.Cancel(&waiting);
  EXPECT_EQ(Accept(&server, Part(0, 0, 1)), PushReply::OUTCOME_ACCEPTED);
}

TEST(TrainingStepsTest, EvaluationWaitsForNoPush) {
  Server server(SmallJob{2, 2});
  Accept(&server, Part(0, 0, 1));
  Waiting waiting;
  server.steps.WaitToEvaluate(waiting.At(0));
  EXPECT_TRUE(waiting.resumed());
}

TEST(TrainingStepsTest, UnboundedAppliesAtOnceAndNeverWaits) {
  SmallJob job{2, 2, -1};
  job.gradient_scale = Training::GRADIENT_SCALE_MEAN;
  Server server(job);
  EXPECT_EQ(Accept(&server, Part(1, 30, 8)), PushReply::OUTCOME_ACCEPTED);
  EXPECT_FLOAT_EQ(server.Moved(), 2) << "the push's own samples";
  EXPECT_EQ(Accept(&server, Part(1, 30, 8)), PushReply::OUTCOME_DUPLICATE);
  EXPECT_FLOAT_EQ(server.Moved(), 2);
  Waiting waiting;
  server.steps.WaitToTrain(waiting.At(1000000));
  EXPECT_TRUE(waiting.resumed());
  EXPECT_EQ(server.steps.applied_step(), -1);
}

TEST(TrainingStepsTest, RepeatedKeysOfAPushAreSummed) {
  Server server(SmallJob{2, 1, -1});
  PushPart part = Part(0, 0, 1, {kKey, 3, kKey});
  part.tables[0].distinct = false;
  Accept(&server, part);
  EXPECT_FLOAT_EQ(server.Moved(), 2);
  EXPECT_FLOAT_EQ(server.Moved(3), 1);
}

TEST(TrainingStepsTest, RefusesWhatIsOutOfRange) {
  Server server(SmallJob{2, 2});
  PushPart part = Part(2, 0, 1);
  EXPECT_THAT(std::string(server.steps.Accept(part).status().message()), HasSubstr("worker_rank 2"));
  part = Part(0, -1, 1);
  EXPECT_THAT(std::string(server.steps.Accept(part).status().message()), HasSubstr("step -1"));
  part = Part(0, 0, 1);
  part.parts = 0;
  EXPECT_THAT(std::string(server.steps.Accept(part).status().message()), HasSubstr("parts 0"));
  part.parts = kPartsMax + 1;
  EXPECT_FALSE(server.steps.Accept(part).ok());
  part.parts = 2;
  part.id.part = 2;
  EXPECT_THAT(std::string(server.steps.Accept(part).status().message()), HasSubstr("part 2"));
  Waiting waiting;
  server.steps.WaitToTrain(waiting.At(1000));
  EXPECT_EQ(waiting.Wait().code(), absl::StatusCode::kResourceExhausted);
}

// For ThreadSanitizer: workers in step with each other, lookups and pushes of several threads, and one that reads beside them.
TEST(TrainingStepsTest, WorkersOnTheirOwnThreadsStayInStep) {
  constexpr uint32_t kWorkers = 3;
  constexpr int64_t kSteps = 40;
  Server server(SmallJob{2, kWorkers});
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kWorkers; ++rank) {
    threads.emplace_back([&server, rank] {
      for (int64_t step = 0; step < kSteps; ++step) {
        Waiting waiting;
        server.steps.WaitToTrain(waiting.At(step));
        EXPECT_TRUE(waiting.Wait().ok());
        EXPECT_FLOAT_EQ(server.Moved(), static_cast<float>(step * kWorkers)) << "a lookup sees exactly the steps before its own";
        Accept(&server, Part(rank, step, 1));
      }
    });
  }
  threads.emplace_back([&server] {
    for (int i = 0; i < 50; ++i) {
      Waiting waiting;
      server.steps.WaitToEvaluate(waiting.At(0));
      EXPECT_TRUE(waiting.Wait().ok());
      server.tables->Fingerprint();
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.steps.applied_step(), kSteps - 1);
}

}  // namespace
}  // namespace weir::server
