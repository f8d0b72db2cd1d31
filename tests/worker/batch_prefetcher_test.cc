#include "worker/batch_prefetcher.h"

#include <atomic>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace weir::worker {
namespace {

// What happens in a CountingSource, seen from outside. Outlives it.
struct SourceLog {
  Mutex mu;
  CondVar changed;
  uint32_t calls ABSL_GUARDED_BY(mu) = 0;

  // Whether `wanted` calls come within 10 s.
  bool WaitForCalls(uint32_t wanted) {
    MutexLock lock(&mu);
    return changed.WaitUntil(&mu, absl::Now() + absl::Seconds(10), [this, wanted] { return calls >= wanted; });
  }
};

// Batch i has one sample, of label i. After `batches` it ends with `end`.
class CountingSource final : public BatchSource {
 public:
  CountingSource(uint32_t batches, absl::Status end, SourceLog* log) : batches_(batches), end_(std::move(end)), log_(log) {}

  absl::Status Next(uint32_t samples_max, Batch* batch) override {
    MutexLock lock(&log_->mu);
    const uint32_t call = log_->calls++;
    log_->changed.NotifyAll();
    batch->samples = 0;
    if (call >= batches_) return end_;
    batch->samples = 1;
    batch->labels = {static_cast<float>(call)};
    return absl::OkStatus();
  }
  uint64_t bad_rows() const override {
    MutexLock lock(&log_->mu);
    return log_->calls;
  }

 private:
  const uint32_t batches_;
  const absl::Status end_;
  SourceLog* const log_;
};

TEST(BatchPrefetcherTest, GivesEveryBatchInOrderAndThenTheEnd) {
  for (const uint32_t depth : {1, 2, 7}) {
    SourceLog log;
    BatchPrefetcher prefetcher(std::make_unique<CountingSource>(100, absl::OkStatus(), &log), {1, depth});
    Batch batch;
    for (uint32_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(prefetcher.Next(1, &batch).ok());
      ASSERT_EQ(batch.samples, 1);
      ASSERT_EQ(batch.labels[0], i);
      EXPECT_EQ(prefetcher.bad_rows(), i + 1) << "of the batch, not of what is read ahead";
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(prefetcher.Next(1, &batch).ok());
      EXPECT_EQ(batch.samples, 0);
    }
  }
}

TEST(BatchPrefetcherTest, ErrorComesBehindTheBatchesBeforeIt) {
  SourceLog log;
  BatchPrefetcher prefetcher(std::make_unique<CountingSource>(3, absl::DataLossError("file, line 4"), &log), {1, 8});
  ASSERT_TRUE(log.WaitForCalls(4));
  Batch batch;
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(prefetcher.Next(1, &batch).ok());
    ASSERT_EQ(batch.labels[0], i);
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(prefetcher.Next(1, &batch), absl::DataLossError("file, line 4"));
}

TEST(BatchPrefetcherTest, ReadsAheadAsFarAsItsDepth) {
  SourceLog log;
  {
    BatchPrefetcher prefetcher(std::make_unique<CountingSource>(1000, absl::OkStatus(), &log), {1, 3});
    ASSERT_TRUE(log.WaitForCalls(3)) << "before anybody asks";
    Batch batch;
    for (uint32_t i = 1; i <= 20; ++i) {
      ASSERT_TRUE(prefetcher.Next(1, &batch).ok());
      ASSERT_TRUE(log.WaitForCalls(i + 3));
    }
  }  // ends although the source has more
  MutexLock lock(&log.mu);
  EXPECT_EQ(log.calls, 23);
}

TEST(BatchPrefetcherTest, OtherBatchSizesAreRefused) {
  SourceLog log;
  BatchPrefetcher prefetcher(std::make_unique<CountingSource>(5, absl::OkStatus(), &log), {128, 1});
  Batch batch;
  EXPECT_EQ(prefetcher.Next(64, &batch).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::worker
