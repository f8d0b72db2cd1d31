// Sample scope on the lookup edge (DCT-MP: Gupta et al., KDD 2021, Algorithm 2): the server pools each sample's rows, sends what passes the
// sample's own threshold, and gets the gradient back in the same mask.
#ifndef WEIR_SERVER_SERVICE_SAMPLE_SCOPE_H_
#define WEIR_SERVER_SERVICE_SAMPLE_SCOPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/data_service.pb.h"
#include "server/service/call_keys.h"
#include "server/table/gradient_rows.h"

namespace weir::server {

// The bags of one lookup, and its mask once it was answered. A sample's entries are the pooled vectors (sums) of the features whose bag is
// not empty here, in the order of the bags; samples follow one another. Single-threaded until answered, then constant.
class SampleScope {
 public:
  // INVALID_ARGUMENT, naming bag and field: counts or indices that do not fit the samples and keys; sparsity outside [0, 1).
  // RESOURCE_EXHAUSTED: limits of base/limits.h.
  static absl::StatusOr<SampleScope> Decode(const LookupRequest& request, absl::Span<const CallKeys> tables);

  // Pools the rows (rows[slot]: those of the keys of LookupRequest.tables[slot]), appends the frame and remembers which entries it kept.
  absl::Status EncodePooled(absl::Span<const float* const> rows, std::string* frame);

  // Entries that the mask kept: what a push carries.
  uint32_t kept() const { return static_cast<uint32_t>(mask_.size()); }

  // Adds the values of a push, in the order of the mask, to the gradients of every key of the bags that they were pooled from.
  // gradients[slot]: keys x dim. A row none of whose entries was kept is left as it is. Errors as compression::DecodeImplied.
  absl::Status ScatterPush(absl::string_view frame, absl::Span<std::vector<float>> gradients) const;

 private:
  struct Bags {
    uint32_t slot = 0;  // in LookupRequest.tables
    uint32_t dim = 0;
    std::vector<uint32_t> counts;   // by sample
    std::vector<uint32_t> indices;  // of keys, bag after bag
  };

  static absl::StatusOr<Bags> DecodeBags(const FeatureBags& encoded, uint32_t samples, absl::Span<const CallKeys> tables);
  // visit(bags, key indices, first entry) for every bag that is not empty, in the order of the entries; sample_end() after each sample.
  template <typename Visit, typename SampleEnd>
  void ForEachBag(Visit visit, SampleEnd sample_end) const;
  // Pools bag after bag to `out` and on; after each sample done(end of it) says where the next one is to go.
  template <typename SampleDone>
  void Pool(absl::Span<const float* const> rows, float* out, SampleDone done) const;

  uint32_t samples_ = 0;
  uint32_t entries_ = 0;
  double sparsity_ = 0;
  bool laplace_ = false;  // one threshold for the call
  std::vector<Bags> features_;
  std::vector<uint32_t> mask_;  // positions kept, increasing
};

}  // namespace weir::server

#endif  // WEIR_SERVER_SERVICE_SAMPLE_SCOPE_H_
