// Sample scope on the wire: which samples and bags a call carries, and its request. Pure; no RPC.
#ifndef WEIR_CLIENT_SAMPLE_PARTS_H_
#define WEIR_CLIENT_SAMPLE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/bag_batch.h"
#include "client/call_splitter.h"
#include "proto/data_service.pb.h"

namespace weir::client {

// The keys of one table in a part: slots of its TableBatch, increasing.
struct PartTable {
  uint32_t batch = 0;
  std::vector<uint32_t> slots;
};

// Consecutive samples of a batch, on one server. No sample is split.
struct SamplePart {
  CallPart call;  // runs stay empty: the tables of sample scope are below
  uint32_t sample_begin = 0;
  uint32_t sample_end = 0;
  std::vector<PartTable> tables;
  // The bags that have keys here, in the order of the reply: sample by sample, features in order. As sample * features + feature.
  std::vector<uint32_t> bags;
};

struct SampleSplit {
  uint32_t server_count = 1;
  double bag_bytes = 1;  // expected in a reply
  size_t call_bytes_target = 1;
};

// Parts ordered by server and part, at least one for each server, with sample ranges only. RESOURCE_EXHAUSTED: more than base/limits.h
// allows.
absl::StatusOr<std::vector<SamplePart>> SplitSamples(const BagBatch& batch, const SampleSplit& split);

// Fills tables and bags of a part, and the keys, samples and bags of its request.
void FillPart(const BagBatch& batch, SamplePart* part, LookupRequest* request);

// Gradients of the part's rows, for a server that has lost the ticket: entry `mask[i]` of the part's bags has the gradient values[i]. One
// vector of rows (slots x dim) for each of part.tables.
std::vector<std::vector<float>> RowGradientsOf(const BagBatch& batch, const SamplePart& part, uint32_t dim, absl::Span<const uint32_t> mask,
                                               absl::Span<const float> values);

}  // namespace weir::client

#endif  // WEIR_CLIENT_SAMPLE_PARTS_H_
