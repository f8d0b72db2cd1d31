#include "worker/power_sgd_reducer.h"

#include <cmath>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/meeting_reducer.h"

namespace weir::worker {
namespace {

// Compressed; below min_elements; too narrow for the rank.
std::vector<ParameterSlice> Layers() { return {{"big", 0, 41 * 30, 30, 40}, {"small", 1230, 20, 4, 4}, {"narrow", 1250, 303, 3, 100}}; }
constexpr uint32_t kSize = 1553;

PowerSgdOptions Options() {
  PowerSgdOptions options;
  options.codec.set_rank(3);
  options.codec.set_min_elements(100);
  options.seed = 9;
  return options;
}

TEST(PowerSgdReducerTest, SendsFactorsOfLargeLayersAndTheRestWholeAndLosesNothing) {
  constexpr uint32_t kWorkers = 3;
  Meeting meeting(kWorkers);
  std::vector<std::unique_ptr<DenseReducer>> reducers;
  for (uint32_t rank = 0; rank < kWorkers; ++rank) {
    reducers.push_back(CreatePowerSgdReducer(Layers(), Options(), std::make_unique<MeetingReducer>(&meeting, rank)));
  }
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<double> brought(kSize), arrived(kSize);
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::vector<float>> gradients(kWorkers, std::vector<float>(kSize));
    std::vector<float> sum(kSize);
    for (auto& gradient : gradients) {
      for (size_t i = 0; i < kSize && step < 5; ++i) brought[i] += gradient[i] = normal(random);  // then the residuals drain
      for (size_t i = 0; i < kSize; ++i) sum[i] += gradient[i];
    }
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
      threads.emplace_back([&, rank] {
        const auto samples = reducers[rank]->Reduce(step, rank, absl::MakeSpan(gradients[rank]));
        ASSERT_TRUE(samples.ok()) << samples.status();
        EXPECT_EQ(*samples, 3);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(gradients[1], gradients[0]);
    EXPECT_EQ(gradients[2], gradients[0]);
    for (size_t i = 1200; i < kSize; ++i) ASSERT_EQ(gradients[0][i], sum[i]) << "biases and small layers travel whole";
    for (size_t i = 0; i < kSize; ++i) arrived[i] += gradients[0][i];
  }
  for (size_t i = 0; i < kSize; ++i) ASSERT_NEAR(arrived[i], brought[i], 1e-2) << i;
  // P, Q, the bias of the large layer, the two others, and twice the samples.
  EXPECT_EQ(meeting.numbers(), uint64_t{kSteps} * kWorkers * (3 * 30 + 3 * 40 + 30 + 20 + 303 + 2));
  const auto stats = reducers[0]->TakeStats();
  ASSERT_EQ(stats.size(), 3);
  EXPECT_EQ(stats[0].stats.entries, uint64_t{kSteps} * 1230);
  EXPECT_EQ(stats[0].stats.kept, uint64_t{kSteps} * (3 * 30 + 3 * 40 + 30));
  EXPECT_EQ(stats[1].stats.kept, uint64_t{kSteps} * 20);
}

TEST(PowerSgdReducerTest, NotFiniteNamesTheLayer) {
  Meeting meeting(1);
  const auto reducer = CreatePowerSgdReducer(Layers(), Options(), std::make_unique<MeetingReducer>(&meeting, 0));
  std::vector<float> gradients(kSize);
  gradients[7] = std::nanf("");
  const auto samples = reducer->Reduce(4, 1, absl::MakeSpan(gradients));
  EXPECT_EQ(samples.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(samples.status().message().find("layer big at step 4: gradient 7 of 1200"), std::string::npos) << samples.status();
}

}  // namespace
}  // namespace weir::worker
