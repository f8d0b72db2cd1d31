#include "worker/batch_prefetcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/trace.h"

namespace weir::worker {

BatchPrefetcher::BatchPrefetcher(std::unique_ptr<BatchSource> source, PrefetcherOptions options)
    : source_(std::move(source)), options_(options), thread_([this] { ReadAhead(); }) {}

BatchPrefetcher::~BatchPrefetcher() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

absl::Status BatchPrefetcher::Next(uint32_t samples_max, Batch* batch) {
  if (samples_max != options_.samples) {
    return absl::InvalidArgumentError(absl::StrCat("batches of ", options_.samples, " samples are read ahead, not of ", samples_max));
  }
  MutexLock lock(&mu_);
  if (!changed_.WaitUntil(&mu_, absl::Now() + kWaitMax, [this] { return !ready_.empty(); })) {
    return absl::DeadlineExceededError(absl::StrCat("the reader gave no batch for ", absl::FormatDuration(kWaitMax)));
  }
  Ready& next = ready_.front();
  bad_rows_ = next.bad_rows;
  if (next.last()) {
    *batch = next.batch;  // kept: every later call gets the same empty batch
    return next.status;
  }
  std::swap(*batch, next.batch);
  spare_.push_back(std::move(next.batch));
  ready_.pop_front();
  changed_.NotifyAll();
  return absl::OkStatus();
}

void BatchPrefetcher::ReadAhead() {
  for (bool last = false; !last;) {
    Ready next;
    {
      MutexLock lock(&mu_);
      changed_.WaitUntil(&mu_, absl::InfiniteFuture(), [this] { return stopping_ || ready_.size() < options_.depth; });
      if (stopping_) return;
      if (!spare_.empty()) {
        next.batch = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    const absl::Time start = absl::Now();
    next.status = source_->Next(options_.samples, &next.batch);
    TraceSpan("reader", "read", -1, start, absl::Now());
    next.bad_rows = source_->bad_rows();
    last = next.last();
    {
      MutexLock lock(&mu_);
      ready_.push_back(std::move(next));
    }
    changed_.NotifyAll();
  }
}

}  // namespace weir::worker
