#include <utility>

#include "client/embedding_bags.h"

namespace weir::client {

void CodecStats::Add(const CodecStats& later) {
  if (later.stats.entries > 0) {
    const uint64_t entries = stats.entries + later.stats.entries;
    const uint64_t kept = stats.kept + later.stats.kept;
    stats = later.stats;
    stats.entries = entries;
    stats.kept = kept;
  }
  key_bytes += later.key_bytes;
  bytes += later.bytes;
  seconds += later.seconds;
}

}  // namespace weir::client
