#include "client/call_splitter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace weir::client {
namespace {

// As few parts as keys_max allows, of even size: the last one would otherwise cost a call for little. A table's keys may span several.
void SplitServer(absl::Span<const TableBatch> batches, uint32_t server, uint64_t keys_max, std::vector<CallPart>* parts) {
  uint64_t keys = 0;
  for (const TableBatch& batch : batches) keys += batch.keys.server_ends[server] - batch.keys.server_begin(server);
  const uint64_t count = std::max<uint64_t>((keys + keys_max - 1) / keys_max, 1);
  const uint64_t part_keys = (keys + count - 1) / count;
  const size_t first = parts->size();
  parts->push_back({server, 0, 0, {}});
  uint64_t room = part_keys;
  for (uint32_t batch = 0; batch < batches.size(); ++batch) {
    const uint32_t end = batches[batch].keys.server_ends[server];
    uint32_t begin = batches[batch].keys.server_begin(server);
    while (begin < end) {
      if (room == 0) {
        parts->push_back({server, static_cast<uint32_t>(parts->size() - first), 0, {}});
        room = part_keys;
      }
      const uint32_t run_end = begin + static_cast<uint32_t>(std::min<uint64_t>(room, end - begin));
      parts->back().runs.push_back({batch, begin, run_end});
      room -= run_end - begin;
      begin = run_end;
    }
  }
  for (size_t i = first; i < parts->size(); ++i) (*parts)[i].parts = static_cast<uint32_t>(parts->size() - first);
}

}  // namespace

absl::StatusOr<std::vector<CallPart>> SplitCalls(absl::Span<const TableBatch> batches, const SplitOptions& options) {
  const size_t wanted = options.call_bytes_target / std::max<size_t>(options.key_bytes, 1);
  const uint64_t keys_max = std::clamp<uint64_t>(wanted, 1, kKeysPerTableCallMax);
  std::vector<CallPart> parts;
  for (uint32_t server = 0; server < options.server_count; ++server) {
    SplitServer(batches, server, keys_max, &parts);
    if (parts.back().parts > kPartsMax) {
      return absl::ResourceExhaustedError(absl::StrCat("the keys of this step need ", parts.back().parts, " calls to server ", server,
                                                       ", at most ", kPartsMax, " are allowed: use smaller batches"));
    }
  }
  return parts;
}

}  // namespace weir::client
