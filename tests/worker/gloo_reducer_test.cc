#include "worker/gloo_reducer.h"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/socket_bytes.h"
#include "gtest/gtest.h"

namespace weir::worker {
namespace {

// The rendezvous store of one job, in memory.
class Store {
 public:
  void Put(absl::string_view key, absl::string_view value) {
    MutexLock lock(&mu_);
    values_[std::string(key)] = std::string(value);
    changed_.NotifyAll();
  }
  absl::StatusOr<std::string> Get(const std::string& key, absl::Duration timeout) {
    MutexLock lock(&mu_);
    if (!changed_.WaitUntil(&mu_, absl::Now() + timeout, [&] { return values_.count(key) > 0; })) {
      return absl::DeadlineExceededError("nobody put " + key);
    }
    return values_[key];
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::map<std::string, std::string> values_;
};

// The part of the control plane that Gloo needs; the rest is not called.
class FakeControl final : public ControlClient {
 public:
  FakeControl(Store* store, uint32_t rank) : store_(store), rank_(rank) {}
  uint32_t index() const override { return rank_; }
  uint64_t incarnation() const override { return 1; }
  const Job& job() const override { return job_; }
  uint64_t job_hash() const override { return 1; }
  void StartHeartbeats(absl::Duration, std::function<WorkerProgress()>,
                       std::function<void(HeartbeatReply::Instruction, std::string)>) override {}
  absl::Status PutValue(absl::string_view key, absl::string_view value) override {
    store_->Put(key, value);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::string>> GetValues(const std::vector<std::string>& keys, absl::Duration timeout) override {
    std::vector<std::string> values;
    for (const std::string& key : keys) {
      auto value = store_->Get(key, timeout);
      if (!value.ok()) return value.status();
      values.push_back(*std::move(value));
    }
    return values;
  }
  absl::StatusOr<NextRangeReply> NextRange(NextRangeRequest::Set) override { return absl::InternalError("not part of this test"); }
  const std::string& checkpoint_dir() const override { return none_; }
  const std::string& resume_dir() const override { return none_; }
  const ShardMap& shard_map() const override { return map_; }
  absl::StatusOr<PauseDueReply> PauseDue(int64_t) override { return PauseDueReply(); }
  absl::StatusOr<AwaitShardMapReply> AwaitShardMap(int64_t) override { return AwaitShardMapReply(); }
  absl::Status SaveCheckpoint(SaveCheckpointRequest) override { return absl::UnimplementedError("not here"); }
  absl::Status CheckpointWritten(int64_t) override { return absl::UnimplementedError("not here"); }
  absl::Status Barrier(absl::string_view, absl::Duration) override { return absl::OkStatus(); }
  absl::Status ReportEvaluation(absl::Span<const float>, absl::Span<const uint8_t>) override { return absl::OkStatus(); }
  absl::Status Leave(LeaveRequest) override { return absl::OkStatus(); }
  absl::Status Stop(absl::string_view) override { return absl::OkStatus(); }

 private:
  Store* const store_;
  const uint32_t rank_;
  const Job job_;
  const std::string none_;
  const ShardMap map_;
};

TEST(GlooReducerTest, SumsGradientsAndSamplesOfAllWorkersAndCountsBytes) {
  for (const uint32_t workers : {1u, 2u, 3u}) {
    Store store;
    const uint64_t bytes_before = CountedBytes().dense;
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < workers; ++rank) {
      threads.emplace_back([&store, rank, workers] {
        FakeControl control(&store, rank);
        const auto reducer = CreateGlooReducer(&control, {workers, "127.0.0.1", absl::Seconds(20)});
        ASSERT_TRUE(reducer.ok()) << reducer.status();
        for (int64_t step = 0; step < 3; ++step) {
          std::vector<float> gradients(10000);
          for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>((rank + 1) * (i + step));
          const auto samples = (*reducer)->Reduce(step, rank == 0 ? 0 : 10, absl::MakeSpan(gradients));
          ASSERT_TRUE(samples.ok()) << samples.status();
          EXPECT_EQ(*samples, (workers - 1) * 10);
          const float ranks = workers * (workers + 1) / 2.0f;
          for (size_t i = 0; i < gradients.size(); ++i) ASSERT_EQ(gradients[i], ranks * static_cast<float>(i + step));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    // A ring sends each number (workers - 1) / workers twice from each worker.
    const uint64_t payload = 3ull * 10001 * 4 * 2 * (workers - 1);
    EXPECT_GE(CountedBytes().dense - bytes_before, payload);
    EXPECT_LE(CountedBytes().dense - bytes_before, payload + payload / 10);
  }
}

TEST(GlooReducerTest, MissingWorkerEndsTheRendezvousAtItsDeadline) {
  Store store;
  FakeControl control(&store, 0);
  const auto reducer = CreateGlooReducer(&control, {2, "127.0.0.1", absl::Milliseconds(200)});
  EXPECT_EQ(reducer.status().code(), absl::StatusCode::kUnavailable) << reducer.status();
}

}  // namespace
}  // namespace weir::worker
