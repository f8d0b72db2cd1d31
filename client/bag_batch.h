// The features of a batch, grouped by table and routed to servers. Pure; no RPC.
#ifndef WEIR_CLIENT_BAG_BATCH_H_
#define WEIR_CLIENT_BAG_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/call_splitter.h"
#include "client/client_options.h"
#include "client/embedding_bags.h"
#include "client/key_router.h"

namespace weir::client {

// Where a feature's keys went: key i of the feature is at position first + i of its table's slot_of.
struct FeaturePlace {
  uint32_t batch = 0;  // index in BagBatch::tables
  uint32_t first = 0;
  std::vector<uint32_t> ends;  // as FeatureKeys::ends

  uint32_t bag_begin(uint32_t sample) const { return first + (ends.empty() ? sample : sample == 0 ? 0 : ends[sample - 1]); }
  uint32_t bag_end(uint32_t sample) const { return first + (ends.empty() ? sample + 1 : ends[sample]); }
};

struct BagBatch {
  uint32_t samples = 0;
  std::vector<FeaturePlace> features;
  std::vector<TableBatch> tables;  // in the order in which the features name them
  size_t rows = 0;                 // of all tables
};

enum class KeysSent {
  kUnique,           // each distinct key of a table once
  kEveryOccurrence,  // each key of each sample
};

// Single-threaded: keeps its working memory between calls.
class BagRouter {
 public:
  // Tables it may be asked for, all `dim` wide; the caller keeps them.
  BagRouter(const ShardMap& map, absl::Span<const TableInfo> tables, uint32_t dim);

  // Replaces `out`, whose memory is reused. INVALID_ARGUMENT, naming the feature: an unknown table or one of another width, a number of
  // keys or ends that does not go with `samples`, ends that decrease.
  absl::Status Route(uint32_t samples, absl::Span<const FeatureKeys> features, KeysSent sent, BagBatch* out);

 private:
  absl::Status Check(uint32_t samples, uint32_t index, const FeatureKeys& feature) const;
  void Place(absl::Span<const FeatureKeys> features, BagBatch* out);
  absl::Span<const Key> KeysOf(uint32_t batch, absl::Span<const FeatureKeys> features, const BagBatch& placed);

  KeyRouter router_;
  const absl::Span<const TableInfo> tables_;
  const uint32_t dim_;
  std::vector<uint32_t> batch_of_table_;  // + 1; 0: not used by the batch
  std::vector<Key> merged_;               // keys of a table that several features share
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_BAG_BATCH_H_
