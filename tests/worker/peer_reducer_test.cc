#include "worker/peer_reducer.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/socket_bytes.h"
#include "compression/frame_layout.h"
#include "gtest/gtest.h"

namespace weir::worker {
namespace {

constexpr uint64_t kJobHash = 0x1234;

// All workers of a job in one process, each on its own thread during a step.
class Workers {
 public:
  Workers(uint32_t count, Compression::Dense codec, absl::Duration timeout = absl::Seconds(20)) {
    uint32_t offset = 0;
    for (const uint32_t size : {7u, 1000u, 3u, 300u}) {
      layers_.push_back({absl::StrCat("layer.", layers_.size()), offset, size});
      offset += size;
    }
    std::vector<std::string> addresses;
    for (uint32_t rank = 0; rank < count; ++rank) {
      exchanges_.push_back(std::make_unique<PeerExchange>());
      endpoints_.push_back(*GrpcEndpoint::Listen("127.0.0.1:0", {exchanges_.back().get()}));
      addresses.push_back(endpoints_.back()->address());
    }
    for (uint32_t rank = 0; rank < count; ++rank) {
      PeerReducerOptions options = {codec, kJobHash, rank, addresses, timeout};
      reducers_.push_back(*CreatePeerReducer(layers_, exchanges_[rank].get(), std::move(options)));
    }
  }
  ~Workers() {
    for (const auto& exchange : exchanges_) exchange->Abandon(absl::UnavailableError("test ends"));
  }

  uint32_t size() const { return layers_.back().offset + layers_.back().size; }
  DenseReducer& reducer(uint32_t rank) { return *reducers_[rank]; }
  const std::string& address(uint32_t rank) const { return endpoints_[rank]->address(); }

  // One step of all workers; worker r has r + 1 samples. Replaces the gradients by what each worker got.
  void Reduce(int64_t step, std::vector<std::vector<float>>* gradients) {
    std::vector<std::thread> threads;
    const uint64_t total = reducers_.size() * (reducers_.size() + 1) / 2;
    for (uint32_t rank = 0; rank < reducers_.size(); ++rank) {
      threads.emplace_back([=] {
        const auto samples = reducers_[rank]->Reduce(step, rank + 1, absl::MakeSpan((*gradients)[rank]));
        ASSERT_TRUE(samples.ok()) << samples.status();
        EXPECT_EQ(*samples, total);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<ParameterSlice> layers_;
  std::vector<std::unique_ptr<PeerExchange>> exchanges_;
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints_;
  std::vector<std::unique_ptr<DenseReducer>> reducers_;
};

Compression::Dense Dct(double sparsity, Compression::Values values = Compression::VALUES_FP32) {
  Compression::Dense codec;
  codec.set_method(Compression::METHOD_DCT);
  codec.set_sparsity(sparsity);
  codec.set_refresh_every(3);
  codec.set_min_elements(16);
  codec.set_values(values);
  return codec;
}

std::vector<std::vector<float>> RandomGradients(uint32_t workers, uint32_t size, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> gradients(workers, std::vector<float>(size));
  for (auto& gradient : gradients) {
    for (float& x : gradient) x = normal(random);
  }
  return gradients;
}

class PeerReducerTest : public testing::TestWithParam<uint32_t> {};

TEST_P(PeerReducerTest, SparsityZeroIsThePlainSumInRankOrder) {
  Workers workers(GetParam(), Dct(0));
  for (int64_t step = 0; step < 3; ++step) {
    auto gradients = RandomGradients(GetParam(), workers.size(), static_cast<int>(step));
    std::vector<float> sum(workers.size());
    for (const auto& gradient : gradients) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    workers.Reduce(step, &gradients);
    for (const auto& got : gradients) EXPECT_EQ(got, sum);
  }
}

// Zeros do not travel: workers that send all of their gradients send different entries where different units are dead, and owners may hold
// nothing of them back.
TEST_P(PeerReducerTest, WhatTravelsWholeArrivesAtOnce) {
  Compression::Dense small_layers = Dct(0.99), rounded = Dct(0);
  small_layers.set_min_elements(100000);
  rounded.set_method(Compression::METHOD_BF16);
  for (const Compression::Dense& codec : {Dct(0), small_layers, rounded}) {
    Workers workers(GetParam(), codec);
    for (int64_t step = 0; step < 3; ++step) {
      // Entry i is of worker i mod workers alone; small whole numbers, which bf16 has.
      std::vector<std::vector<float>> gradients(GetParam(), std::vector<float>(workers.size()));
      std::vector<float> sum(workers.size());
      for (size_t i = 0; i < sum.size(); ++i) gradients[i % GetParam()][i] = sum[i] = static_cast<float>(1 + (i + step) % 100);
      workers.Reduce(step, &gradients);
      for (const auto& got : gradients) ASSERT_EQ(got, sum) << codec.ShortDebugString();
    }
  }
}

// As the quality guard asks for it: what workers and owners have held back comes, then nothing is held back any more.
TEST_P(PeerReducerTest, AGuardMayMakeALayerWhole) {
  Workers workers(GetParam(), Dct(0.9));
  std::vector<double> missing(workers.size());
  for (int64_t step = 0; step < 6; ++step) {
    if (step == 4) {
      for (uint32_t rank = 0; rank < GetParam(); ++rank) workers.reducer(rank).SetDensityFactor(10);
    }
    std::vector<std::vector<float>> gradients(GetParam(), std::vector<float>(workers.size()));
    for (size_t i = 0; i < workers.size(); ++i) {
      gradients[i % GetParam()][i] = static_cast<float>(1 + (i * 7 + step) % 100);
      missing[i] += gradients[i % GetParam()][i];
    }
    workers.Reduce(step, &gradients);
    for (size_t i = 0; i < workers.size(); ++i) missing[i] -= gradients[0][i];
    const bool all_there = std::all_of(missing.begin(), missing.end(), [](double left) { return left == 0; });
    EXPECT_EQ(all_there, step >= 4) << step;
  }
}

TEST_P(PeerReducerTest, WhatIsNotSentYetIsSentLater) {
  for (const auto values : {Compression::VALUES_FP32, Compression::VALUES_FP16}) {
    Workers workers(GetParam(), Dct(0.95, values));
    std::vector<double> true_sum(workers.size()), sent_sum(workers.size());
    constexpr int64_t kSteps = 20;
    double kept = 0, entries = 0;
    for (int64_t step = 0; step < kSteps; ++step) {
      auto gradients = RandomGradients(GetParam(), workers.size(), static_cast<int>(100 + step));
      for (const auto& gradient : gradients) {
        for (size_t i = 0; i < true_sum.size(); ++i) true_sum[i] += gradient[i];
      }
      workers.Reduce(step, &gradients);
      for (uint32_t rank = 1; rank < GetParam(); ++rank) EXPECT_EQ(gradients[rank], gradients[0]) << "other bits on worker " << rank;
      for (size_t i = 0; i < sent_sum.size(); ++i) sent_sum[i] += gradients[0][i];
      for (const auto& stats : workers.reducer(0).TakeStats()) {
        kept += static_cast<double>(stats.stats.kept);
        entries += static_cast<double>(stats.stats.entries);
      }
    }
    EXPECT_LT(kept / entries, 0.25);
    // Without new gradients the residual drains: what was held back arrives.
    for (int64_t step = kSteps; step < kSteps + 400; ++step) {
      std::vector<std::vector<float>> zeros(GetParam(), std::vector<float>(workers.size()));
      workers.Reduce(step, &zeros);
      for (size_t i = 0; i < sent_sum.size(); ++i) sent_sum[i] += zeros[0][i];
    }
    for (size_t i = 0; i < sent_sum.size(); ++i) ASSERT_NEAR(sent_sum[i], true_sum[i], 1e-2) << "entry " << i;
  }
}

// Momentum 0: what dgc holds back are gradients, as with the others.
TEST_P(PeerReducerTest, EveryMethodGivesAllWorkersTheSameBitsAndLosesNothing) {
  for (const auto method : {Compression::METHOD_BF16, Compression::METHOD_TOPK, Compression::METHOD_DGC}) {
    for (const auto values : {Compression::VALUES_FP32, Compression::VALUES_INT8}) {
      Compression::Dense codec = Dct(0.9, values);
      codec.set_method(method);
      Workers workers(GetParam(), codec);
      std::vector<double> true_sum(workers.size()), sent_sum(workers.size());
      for (int64_t step = 0; step < 120; ++step) {
        auto gradients = RandomGradients(GetParam(), workers.size(), static_cast<int>(step));
        if (step >= 10) gradients.assign(GetParam(), std::vector<float>(workers.size()));  // the residual drains
        for (const auto& gradient : gradients) {
          for (size_t i = 0; i < true_sum.size(); ++i) true_sum[i] += gradient[i];
        }
        workers.Reduce(step, &gradients);
        for (uint32_t rank = 1; rank < GetParam(); ++rank) ASSERT_EQ(gradients[rank], gradients[0]) << "other bits on worker " << rank;
        for (size_t i = 0; i < sent_sum.size(); ++i) sent_sum[i] += gradients[0][i];
      }
      // bf16 keeps no residual on workers: ten roundings of 2^-9 each.
      for (size_t i = 0; i < sent_sum.size(); ++i) ASSERT_NEAR(sent_sum[i], true_sum[i], 0.15) << "entry " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WorkerCounts, PeerReducerTest, testing::Values(1u, 2u, 3u));

// The bytes of layer.3, 300 entries that belong to worker 1, as worker 0 counts them: what it sends and the sums that come back. Four
// entries are not zero, dropped entries before them: 10, 89, 189, 4, of which the third takes two bytes.
struct WorkedFrame {
  Compression::Method method;
  Compression::Values values;
  uint64_t mask, value_bytes, header;  // both ways
};

TEST(PeerReducerBytesTest, AreAsCalculated) {
  // Magic, version, layout, type; 300 takes two bytes, 3 or 4 kept entries one; checksum. int8 says its block, too.
  constexpr uint64_t kSparse = 4 + 2 + 1 + 4, kDense = 4 + 2 + 2 + 4;
  constexpr uint64_t kThreeGaps = 1 + 1 + 2, kFourGaps = kThreeGaps + 1;
  // At 99 % the threshold is the 297th smallest magnitude, which is the least of the four, and goes; the others keep three of 300.
  const std::vector<WorkedFrame> cases = {
      // All entries go; of the sums, a frame of the four that are not zero is shorter.
      {Compression::METHOD_FP16, Compression::VALUES_FP32, kFourGaps, 300 * 2 + 4 * 2, kDense + kSparse},
      {Compression::METHOD_BF16, Compression::VALUES_FP32, kFourGaps, 300 * 2 + 4 * 2, kDense + kSparse},
      {Compression::METHOD_DCT, Compression::VALUES_FP32, 2 * kFourGaps, 2 * 4 * 4, 2 * kSparse},
      {Compression::METHOD_DCT, Compression::VALUES_FP16, 2 * kFourGaps, 2 * 4 * 2, 2 * kSparse},
      {Compression::METHOD_DCT, Compression::VALUES_INT8, 2 * kFourGaps, 2 * (4 + 1), 2 * (kSparse + 1)},
      {Compression::METHOD_TOPK, Compression::VALUES_FP32, 2 * kThreeGaps, 2 * 3 * 4, 2 * kSparse},
      {Compression::METHOD_DGC, Compression::VALUES_FP32, 2 * kThreeGaps, 2 * 3 * 4, 2 * kSparse},
  };
  for (const WorkedFrame& worked : cases) {
    Compression::Dense codec = Dct(0.99, worked.values);
    codec.set_method(worked.method);
    Workers workers(2, codec);
    std::vector<float> gradient(workers.size());
    const size_t layer = 7 + 1000 + 3;
    gradient[layer + 10] = 8;
    gradient[layer + 100] = -4;
    gradient[layer + 290] = 2;
    gradient[layer + 295] = 1;
    std::vector<std::vector<float>> gradients(2, gradient);
    workers.Reduce(0, &gradients);
    const auto stats = workers.reducer(0).TakeStats();
    ASSERT_EQ(stats.size(), 4u);
    const std::string name = absl::StrCat(Compression::Method_Name(worked.method), " ", Compression::Values_Name(worked.values));
    EXPECT_EQ(stats[3].bytes.mask, worked.mask) << name;
    EXPECT_EQ(stats[3].bytes.values, worked.value_bytes) << name;
    EXPECT_EQ(stats[3].bytes.header, worked.header) << name;
    // layer.0 is worker 0's own.
    EXPECT_EQ(stats[0].bytes.header, 0u) << name;
  }
}

TEST(PeerReducerErrorTest, MissingPeerEndsAtTheDeadlineAndIsNamed) {
  Workers workers(2, Dct(0.5), absl::Milliseconds(300));
  std::vector<float> gradient(workers.size(), 1.0f);
  const absl::Time start = absl::Now();
  const auto result = workers.reducer(0).Reduce(0, 1, absl::MakeSpan(gradient));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded) << result.status();
  EXPECT_NE(result.status().message().find("worker 1"), std::string::npos) << result.status();
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
}

TEST(PeerReducerErrorTest, NotFiniteGradientNamesTheLayer) {
  Workers workers(1, Dct(0.5));
  std::vector<float> gradient(workers.size(), 1.0f);
  gradient[500] = std::nanf("");
  const auto result = workers.reducer(0).Reduce(0, 1, absl::MakeSpan(gradient));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find("layer.1"), std::string::npos) << result.status();
}

// What a peer sends is checked: each bad request gets an error and changes nothing.
TEST(PeerExchangeTest, RefusesBadContributions) {
  PeerExchange exchange;
  const auto contribute = [&exchange](const ReduceRequest& request) {
    absl::Status status = absl::UnknownError("not answered");
    exchange.Contribute(request, [&status](const absl::Status& answer, const ReduceReply&) { status = answer; });
    return status;
  };
  ReduceRequest good;
  good.set_job_hash(kJobHash);
  good.set_worker_rank(0);
  good.set_samples(5);
  ASSERT_TRUE(compression::EncodeDense({1, 2, 3}, compression::ValueType::kFp32, good.add_frames()).ok());
  EXPECT_EQ(contribute(good).code(), absl::StatusCode::kUnavailable) << "before it is configured";
  exchange.Configure({kJobHash, 0, 1, false, {{3}}});

  ReduceRequest bad = good;
  bad.set_job_hash(1);
  EXPECT_EQ(contribute(bad).code(), absl::StatusCode::kFailedPrecondition);
  bad = good;
  bad.set_worker_rank(1);
  EXPECT_EQ(contribute(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.set_step(7);
  EXPECT_EQ(contribute(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.clear_frames();
  EXPECT_EQ(contribute(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.mutable_frames(0)->back() ^= 1;
  EXPECT_EQ(contribute(bad).code(), absl::StatusCode::kDataLoss);
  bad = good;
  bad.mutable_frames(0)->clear();
  ASSERT_TRUE(compression::EncodeDense({1, 2}, compression::ValueType::kFp32, bad.mutable_frames(0)).ok());
  EXPECT_EQ(contribute(bad).code(), absl::StatusCode::kInvalidArgument);

  // An encoder refuses NaN, so it is put in after: the last value lies before the checksum.
  bad = good;
  std::string& frame = *bad.mutable_frames(0);
  const float nan = std::nanf("");
  std::memcpy(&frame[frame.size() - 8], &nan, sizeof(nan));
  const uint32_t checksum = compression::FrameChecksum(frame.data(), frame.size() - 4);
  std::memcpy(&frame[frame.size() - 4], &checksum, sizeof(checksum));
  EXPECT_EQ(contribute(bad).code(), absl::StatusCode::kInvalidArgument);

  EXPECT_TRUE(contribute(good).ok());
  EXPECT_TRUE(contribute(good).ok()) << "a retry gets the same answer";
}

// Each layer by its own codec: what two workers with equal gradients get shows which.
TEST(PeerReducerCodecsTest, ALayerOfItsOwnHasItsOwnCodec) {
  Compression::Dense codec = Dct(0.9);
  Compression::LayerDense* const whole = codec.add_layers();
  whole->set_name("layer.1");
  whole->set_method(Compression::METHOD_BF16);
  Compression::LayerDense* const sparse = codec.add_layers();
  sparse->set_name("layer.3");
  sparse->set_method(Compression::METHOD_TOPK);
  sparse->set_sparsity(0.99);
  sparse->set_values(Compression::VALUES_FP32);
  Workers workers(2, codec);
  std::vector<std::vector<float>> gradients = RandomGradients(1, workers.size(), 9);
  gradients.push_back(gradients[0]);
  const std::vector<float> given = gradients[0];
  workers.Reduce(0, &gradients);
  size_t whole_kept = 0, sparse_kept = 0;
  for (size_t i = 7; i < 1007; ++i) {
    whole_kept += gradients[0][i] != 0;
    EXPECT_NEAR(gradients[0][i], 2 * given[i], std::fabs(given[i]) / 64);
  }
  for (size_t i = 1010; i < 1310; ++i) sparse_kept += gradients[0][i] != 0;
  EXPECT_EQ(whole_kept, 1000u);
  EXPECT_EQ(sparse_kept, 3u);
}

// Bytes that a worker's own calls take in a step, both directions, counted at the sockets.
uint64_t BytesPerWorker(uint32_t count, bool same_positions) {
  Workers workers(count, Dct(0.9));
  std::vector<std::vector<float>> gradients = RandomGradients(count, workers.size(), 7);
  if (same_positions) gradients.assign(count, gradients[0]);
  const std::vector<std::vector<float>> first = gradients;
  workers.Reduce(0, &gradients);  // connections
  const uint64_t before = CountedBytes().dense;
  constexpr int64_t kSteps = 10;
  for (int64_t step = 1; step <= kSteps; ++step) {
    gradients = same_positions ? first : RandomGradients(count, workers.size(), static_cast<int>(50 + step));
    workers.Reduce(step, &gradients);
  }
  return (CountedBytes().dense - before) / (kSteps * count);
}

// Of k entries a worker sends (W - 1) / W to others, and gets at most k entries of sums from them. Equal positions: 2 k (W - 1) / W in all,
// 1.75 times as much with 8 workers as with 2, as in any all-reduce; different ones: k (W - 1) / W + k, 1.25 times. Each call has some
// hundreds of bytes of messages and HTTP/2 beside its frames.
TEST(PeerTrafficTest, IsFlatFromTwoToEightWorkers) {
  for (const bool same_positions : {true, false}) {
    const auto two = static_cast<double>(BytesPerWorker(2, same_positions));
    const auto four = static_cast<double>(BytesPerWorker(4, same_positions));
    const auto eight = static_cast<double>(BytesPerWorker(8, same_positions));
    constexpr double kCallBytes = 400;
    EXPECT_LT(four - 3 * kCallBytes, (same_positions ? 1.5 : 1.17) * 1.15 * two) << same_positions;
    EXPECT_LT(eight - 7 * kCallBytes, (same_positions ? 1.75 : 1.25) * 1.15 * two) << same_positions;
  }
}

// Eight workers that keep different entries: what does not fit the answers is held back, and comes.
TEST(PeerTrafficTest, WhatDoesNotFitAnAnswerComesLater) {
  constexpr uint32_t kWorkers = 8;
  Workers workers(kWorkers, Dct(0.98));
  std::vector<double> true_sum(workers.size()), sent_sum(workers.size());
  for (int64_t step = 0; step < 600; ++step) {
    auto gradients = step < 10 ? RandomGradients(kWorkers, workers.size(), static_cast<int>(step))
                               : std::vector<std::vector<float>>(kWorkers, std::vector<float>(workers.size()));
    for (const auto& gradient : gradients) {
      for (size_t i = 0; i < true_sum.size(); ++i) true_sum[i] += gradient[i];
    }
    workers.Reduce(step, &gradients);
    size_t entries = 0;
    for (size_t i = 0; i < sent_sum.size(); ++i) {
      sent_sum[i] += gradients[0][i];
      entries += gradients[0][i] != 0;
    }
    for (uint32_t rank = 1; rank < kWorkers; ++rank) ASSERT_EQ(gradients[rank], gradients[0]) << "other bits on worker " << rank;
    if (step > 0) continue;
    // Each layer keeps 2 % + 1 of its entries, small ones all: 41. 8/7 of that, with room for slices in which one worker keeps more than
    // its share; all that the eight keep is about 260.
    EXPECT_LT(entries, 2 * (7 + 3 + 23 + 8));
  }
  for (size_t i = 0; i < sent_sum.size(); ++i) ASSERT_NEAR(sent_sum[i], true_sum[i], 1e-2) << "entry " << i;
}

}  // namespace
}  // namespace weir::worker
