#include "worker/overlapped_reducer.h"

#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/trace.h"

namespace weir::worker {
namespace {

class OverlappedReducer final : public DenseReducer {
 public:
  OverlappedReducer(std::vector<uint32_t> parts, std::unique_ptr<DenseReducer> sums)
      : parts_(std::move(parts)), sums_(std::move(sums)), done_(parts_.size()), thread_([this] { ReduceParts(); }) {}

  ~OverlappedReducer() override {
    {
      MutexLock lock(&mu_);
      stopped_ = true;
    }
    changed_.NotifyAll();
    thread_.join();
  }

  absl::StatusOr<uint64_t> Reduce(int64_t step, uint32_t samples, absl::Span<float> gradients) override {
    Begin(step, samples, gradients);
    GradientsReady(0);
    return Finish();
  }

  void Begin(int64_t step, uint32_t samples, absl::Span<float> gradients) override {
    MutexLock lock(&mu_);
    DenseReducer::Begin(step, samples, gradients);
    ready_from_ = static_cast<uint32_t>(gradients.size());
    done_ = 0;
  }

  void GradientsReady(uint32_t offset) override {
    {
      MutexLock lock(&mu_);
      ready_from_ = offset;
    }
    changed_.NotifyAll();
  }

  absl::StatusOr<uint64_t> Finish() override {
    MutexLock lock(&mu_);
    changed_.WaitUntil(&mu_, absl::InfiniteFuture(), [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return done_ == parts_.size(); });
    return total_;
  }

  bool waits() override {
    MutexLock lock(&mu_);
    return done_ < parts_.size();
  }

  std::vector<client::CodecStats> TakeStats() override { return sums_->TakeStats(); }

 private:
  void ReduceParts() {
    MutexLock lock(&mu_);
    for (;;) {
      changed_.WaitUntil(&mu_, absl::InfiniteFuture(), [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopped_ || PartIsReady(); });
      if (stopped_) return;
      const uint32_t begin = parts_[done_];
      const uint32_t end = done_ == 0 ? static_cast<uint32_t>(begun().gradients.size()) : parts_[done_ - 1];
      const Begun step = begun();
      mu_.Unlock();
      const absl::Time start = absl::Now();
      absl::StatusOr<uint64_t> total = sums_->Reduce(step.step, step.samples, step.gradients.subspan(begin, end - begin));
      TraceSpan("reduction", "reduce", step.step, start, absl::Now());
      mu_.Lock();
      total_ = std::move(total);
      done_ = total_.ok() ? done_ + 1 : parts_.size();
      changed_.NotifyAll();
    }
  }
  bool PartIsReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return done_ < parts_.size() && ready_from_ <= parts_[done_]; }

  const std::vector<uint32_t> parts_;
  const std::unique_ptr<DenseReducer> sums_;
  Mutex mu_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  uint32_t ready_from_ ABSL_GUARDED_BY(mu_) = 0;
  size_t done_ ABSL_GUARDED_BY(mu_);                         // of parts_, in this step
  absl::StatusOr<uint64_t> total_ ABSL_GUARDED_BY(mu_) = 0;  // of the last part that was done
  std::thread thread_;                                       // last: it uses the others
};

}  // namespace

std::vector<uint32_t> ReducedParts(absl::Span<const ParameterSlice> layers, uint32_t floats_min) {
  std::vector<uint32_t> parts;
  uint32_t floats = 0;
  for (size_t i = layers.size(); i-- > 0;) {
    floats += layers[i].size;
    if (floats < floats_min && i > 0) continue;
    parts.push_back(layers[i].offset);
    floats = 0;
  }
  return parts;
}

std::unique_ptr<DenseReducer> CreateOverlappedReducer(std::vector<uint32_t> parts, std::unique_ptr<DenseReducer> sums) {
  return std::make_unique<OverlappedReducer>(std::move(parts), std::move(sums));
}

}  // namespace weir::worker
