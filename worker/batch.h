// A batch of samples, and where batches come from.
#ifndef WEIR_WORKER_BATCH_H_
#define WEIR_WORKER_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/embedding_bags.h"

namespace weir::worker {

// How far a source has been read: `ranges` of those that were handed out are read to their end, and `rows` rows of the next one.
struct SourcePosition {
  uint64_t ranges = 0;
  uint64_t rows = 0;
};

struct Batch {
  uint32_t samples = 0;                       // 0: no data is left
  std::vector<float> dense;                   // samples x dense_features, already transformed
  std::vector<float> labels;                  // 0 or 1
  std::vector<client::FeatureKeys> features;  // one for each sparse feature
  SourcePosition end;                         // of its source, behind the batch
};

// Gives the samples of one set, in the order in which the coordinator handed them to this worker. One thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Replaces `batch` (its memory is reused) with up to samples_max samples; fewer only at the end, 0 after it.
  virtual absl::Status Next(uint32_t samples_max, Batch* batch) = 0;
  // Rows left out so far because they were bad.
  virtual uint64_t bad_rows() const = 0;
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_BATCH_H_
