#include "worker/overlapped_reducer.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/meeting_reducer.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;

const std::vector<ParameterSlice> kLayers = {{"a", 0, 10}, {"b", 10, 100}, {"c", 110, 30}, {"d", 140, 60}, {"e", 200, 5}};
constexpr uint32_t kSize = 205;

TEST(ReducedPartsTest, AreWholeLayersFromTheLastOne) {
  EXPECT_THAT(ReducedParts(kLayers, 1), ElementsAre(200, 140, 110, 10, 0));
  EXPECT_THAT(ReducedParts(kLayers, 50), ElementsAre(140, 10, 0));
  EXPECT_THAT(ReducedParts(kLayers, 65), ElementsAre(140, 10, 0));
  EXPECT_THAT(ReducedParts(kLayers, 66), ElementsAre(110, 10, 0));
  EXPECT_THAT(ReducedParts(kLayers, 1000), ElementsAre(0));
}

TEST(OverlappedReducerTest, SumsEveryPartOnce) {
  constexpr uint32_t kWorkers = 3;
  Meeting meeting(kWorkers);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kWorkers; ++rank) {
    threads.emplace_back([&meeting, rank] {
      const auto reducer = CreateOverlappedReducer(ReducedParts(kLayers, 50), std::make_unique<MeetingReducer>(&meeting, rank));
      for (int64_t step = 0; step < 20; ++step) {
        std::vector<float> gradients(kSize);
        for (uint32_t i = 0; i < kSize; ++i) gradients[i] = static_cast<float>(i + rank * step);
        absl::StatusOr<uint64_t> samples;
        if (step % 3 == 0) {
          samples = reducer->Reduce(step, rank, absl::MakeSpan(gradients));
        } else {
          reducer->Begin(step, rank, absl::MakeSpan(gradients));
          // One worker tells of each layer, another of all at once, the third of some.
          for (size_t layer = kLayers.size(); rank == 0 && layer-- > 0;) reducer->GradientsReady(kLayers[layer].offset);
          if (rank == 2) reducer->GradientsReady(110);
          if (rank > 0) reducer->GradientsReady(0);
          samples = reducer->Finish();
        }
        ASSERT_TRUE(samples.ok()) << samples.status();
        EXPECT_EQ(*samples, 3u);
        EXPECT_FALSE(reducer->waits());
        for (uint32_t i = 0; i < kSize; ++i) ASSERT_EQ(gradients[i], static_cast<float>(3 * i + 3 * step));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Records what it is asked for; fails at a given call.
class RecordingReducer final : public DenseReducer {
 public:
  struct Log {
    Mutex mu;
    CondVar changed;
    std::vector<std::pair<size_t, float>> calls;  // size, first value
  };
  RecordingReducer(Log* log, size_t failing_call) : log_(log), failing_call_(failing_call) {}
  absl::StatusOr<uint64_t> Reduce(int64_t, uint32_t samples, absl::Span<float> gradients) override {
    MutexLock lock(&log_->mu);
    log_->calls.emplace_back(gradients.size(), gradients[0]);
    log_->changed.NotifyAll();
    if (log_->calls.size() == failing_call_) return absl::UnavailableError("a worker is gone");
    return samples;
  }
  std::vector<client::CodecStats> TakeStats() override { return {}; }

 private:
  Log* const log_;
  const size_t failing_call_;
};

TEST(OverlappedReducerTest, StartsWithThePartThatIsReadyWhileTheOthersAreNot) {
  RecordingReducer::Log log;
  const auto reducer = CreateOverlappedReducer(ReducedParts(kLayers, 50), std::make_unique<RecordingReducer>(&log, 0));
  std::vector<float> gradients(kSize, 1.0f);
  reducer->Begin(0, 7, absl::MakeSpan(gradients));
  reducer->GradientsReady(200);  // not a whole part
  reducer->GradientsReady(110);
  {
    MutexLock lock(&log.mu);
    ASSERT_TRUE(log.changed.WaitUntil(&log.mu, absl::Now() + absl::Seconds(60), [&log] { return log.calls.size() == 1; }));
    EXPECT_THAT(log.calls, ElementsAre(std::pair(65u, 1.0f)));
  }
  EXPECT_TRUE(reducer->waits());
  // Not the reducer's yet.
  for (uint32_t i = 0; i < 110; ++i) gradients[i] = 2;
  reducer->GradientsReady(0);
  EXPECT_EQ(reducer->Finish().value(), 7u);
  EXPECT_THAT(log.calls, ElementsAre(std::pair(65u, 1.0f), std::pair(130u, 2.0f), std::pair(10u, 2.0f)));
}

TEST(OverlappedReducerTest, AnErrorEndsTheStep) {
  RecordingReducer::Log log;
  const auto reducer = CreateOverlappedReducer(ReducedParts(kLayers, 50), std::make_unique<RecordingReducer>(&log, 2));
  std::vector<float> gradients(kSize);
  EXPECT_EQ(reducer->Reduce(0, 7, absl::MakeSpan(gradients)).status().message(), "a worker is gone");
  EXPECT_EQ(log.calls.size(), 2u);
}

TEST(OverlappedReducerTest, MayBeDroppedInTheMiddleOfAStep) {
  RecordingReducer::Log log;
  const auto reducer = CreateOverlappedReducer(ReducedParts(kLayers, 50), std::make_unique<RecordingReducer>(&log, 0));
  std::vector<float> gradients(kSize);
  reducer->Begin(0, 7, absl::MakeSpan(gradients));
  reducer->GradientsReady(110);
}

}  // namespace
}  // namespace weir::worker
