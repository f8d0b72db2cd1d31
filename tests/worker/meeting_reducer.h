// A reducer whose workers meet in one process.
#ifndef WEIR_TESTS_WORKER_MEETING_REDUCER_H_
#define WEIR_TESTS_WORKER_MEETING_REDUCER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "worker/dense_reducer.h"

namespace weir::worker {

// Adds what its members bring, in the order of their ranks.
class Meeting {
 public:
  explicit Meeting(uint32_t count) : brought_(count) {}

  absl::Status Add(uint32_t rank, absl::Span<float> values) {
    MutexLock lock(&mu_);
    const uint64_t round = round_;
    brought_[rank].assign(values.begin(), values.end());
    if (++present_ == brought_.size()) {
      sum_.assign(values.size(), 0);
      for (const std::vector<float>& one : brought_) {
        for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += one[i];
      }
      present_ = 0;
      ++round_;
      changed_.NotifyAll();
    } else if (!changed_.WaitUntil(&mu_, absl::Now() + absl::Seconds(20), [&] { return round_ != round; })) {
      return absl::DeadlineExceededError("not all came");
    }
    numbers_ += values.size();
    std::copy(sum_.begin(), sum_.end(), values.begin());
    return absl::OkStatus();
  }
  uint64_t numbers() {
    MutexLock lock(&mu_);
    return numbers_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<std::vector<float>> brought_;
  std::vector<float> sum_;
  size_t present_ = 0;
  uint64_t round_ = 0;
  uint64_t numbers_ = 0;
};

// Sums over a meeting.
class MeetingReducer final : public DenseReducer {
 public:
  MeetingReducer(Meeting* meeting, uint32_t rank) : meeting_(meeting), rank_(rank) {}
  absl::StatusOr<uint64_t> Reduce(int64_t, uint32_t samples, absl::Span<float> gradients) override {
    std::vector<float> all(gradients.begin(), gradients.end());
    all.push_back(static_cast<float>(samples));
    const absl::Status status = meeting_->Add(rank_, absl::MakeSpan(all));
    if (!status.ok()) return status;
    std::copy(all.begin(), all.end() - 1, gradients.begin());
    return static_cast<uint64_t>(all.back());
  }
  std::vector<client::CodecStats> TakeStats() override { return {}; }

 private:
  Meeting* const meeting_;
  const uint32_t rank_;
};

}  // namespace weir::worker

#endif  // WEIR_TESTS_WORKER_MEETING_REDUCER_H_
