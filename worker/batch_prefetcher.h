// Reads batches ahead on a thread of its own.
#ifndef WEIR_WORKER_BATCH_PREFETCHER_H_
#define WEIR_WORKER_BATCH_PREFETCHER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "worker/batch.h"

namespace weir::worker {

struct PrefetcherOptions {
  uint32_t samples = 0;  // of every batch
  uint32_t depth = 1;    // batches that may lie ready, at least 1
};

// Gives what `source` gives, in the same order, errors and end included; after either it gives it again. Memory of at most depth + 2
// batches goes round. One thread at a time calls it. The destructor waits for the source's call under way.
class BatchPrefetcher final : public BatchSource {
 public:
  BatchPrefetcher(std::unique_ptr<BatchSource> source, PrefetcherOptions options);
  ~BatchPrefetcher() override;

  // REQUIRES: samples_max is options.samples. DEADLINE_EXCEEDED: the source gave nothing for kWaitMax.
  absl::Status Next(uint32_t samples_max, Batch* batch) override;
  // Up to the batch that Next gave last.
  uint64_t bad_rows() const override { return bad_rows_; }

  static constexpr absl::Duration kWaitMax = absl::Minutes(10);

 private:
  struct Ready {
    absl::Status status;
    Batch batch;
    uint64_t bad_rows = 0;
    bool last() const { return !status.ok() || batch.samples == 0; }
  };

  void ReadAhead();

  const std::unique_ptr<BatchSource> source_;  // used by thread_ alone
  const PrefetcherOptions options_;
  uint64_t bad_rows_ = 0;  // used by the caller's thread alone

  Mutex mu_;
  CondVar changed_;
  std::deque<Ready> ready_ ABSL_GUARDED_BY(mu_);   // at most options_.depth; the last() one stays
  std::vector<Batch> spare_ ABSL_GUARDED_BY(mu_);  // memory to reuse
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;  // started last
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_BATCH_PREFETCHER_H_
