// Push requests, from bytes to rows. Input: a byte of choices, then a serialised PushRequest; its job_hash, and when chosen the checksums
// of its frames, are put right, which random bytes would never guess. A push that names a ticket finds one.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/limits.h"
#include "compression/frame_layout.h"
#include "compression/key_codec.h"
#include "server/service/data_plane.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

constexpr uint8_t kSeal = 1;    // checksums are put right
constexpr uint8_t kPooled = 2;  // the ticket is of a pooled lookup
constexpr uint8_t kAsync = 4;   // unbounded staleness

void Demand(bool holds) {
  if (!holds) abort();
}

void Seal(std::string* frame) {
  if (frame->size() < compression::kFrameChecksumBytes) return;
  const size_t end = frame->size() - compression::kFrameChecksumBytes;
  const uint32_t checksum = compression::FrameChecksum(frame->data(), end);
  std::memcpy(&(*frame)[end], &checksum, sizeof(checksum));
}

// Keys 1, 2 and 3 of tables 0 and 1; pooled: one sample with all of them, of which half is kept.
void TakeTicket(const DataPlane& plane, const PushRequest& push, bool pooled) {
  LookupRequest request = LookupOf(push.step(), {KeysOf(0, {1, 2, 3}), KeysOf(1, {1, 2, 3})});
  request.set_worker_rank(push.worker_rank());
  request.set_incarnation(push.incarnation());
  request.set_part(push.part());
  request.set_parts(push.parts());
  if (pooled) {
    request.set_reply(LookupRequest::REPLY_POOLED_DCT);
    request.set_samples(1);
    request.set_sparsity(0.5);
    for (uint32_t slot : {0u, 1u}) {
      FeatureBags* const bags = request.add_bags();
      bags->set_table_slot(slot);
      compression::EncodeVarints({3}, bags->mutable_counts());
      compression::EncodeVarints({0, 1, 2}, bags->mutable_indices());
    }
  }
  LookupReply reply;
  (void)Lookup(plane, request, &reply);
}

void DemandFiniteRows(const DataPlane& plane) {
  for (uint32_t table = 0; table < plane.tables().size(); ++table) {
    for (float weight : RowsOf(plane, table, {0, 1, 2, 3, ~Key{0}})) Demand(std::isfinite(weight));
  }
}

void Try(const PushRequest& push, uint8_t choices) {
  SmallJob job;
  if ((choices & kAsync) != 0) job.staleness = -1;
  EmbeddingServerOptions options;
  options.job = job.Make();
  options.job_hash = kJobHash;
  const std::unique_ptr<DataPlane> plane = *DataPlane::Create(options);
  if (push.ticket()) TakeTicket(*plane, push, (choices & kPooled) != 0);
  PushReply reply;
  const absl::Status status = Push(*plane, push, &reply);
  if (!status.ok()) {
    Demand(plane->tables().rows() == 0);
    return;
  }
  Demand(reply.outcome() == PushReply::OUTCOME_ACCEPTED);
  Demand(reply.refused_count() >= static_cast<uint64_t>(reply.refused_size()) && reply.refused_size() <= static_cast<int>(kKeyStatusesMax));
  DemandFiniteRows(*plane);
  const uint64_t fingerprint = plane->tables().Fingerprint();
  PushReply again;
  Demand(Push(*plane, push, &again).ok() && again.outcome() == PushReply::OUTCOME_DUPLICATE);
  Demand(plane->tables().Fingerprint() == fingerprint);
}

}  // namespace
}  // namespace weir::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::PushRequest push;
  if (size == 0 || !push.ParseFromArray(data + 1, static_cast<int>(size) - 1)) return 0;
  push.set_job_hash(weir::server::kJobHash);
  if ((data[0] & weir::server::kSeal) != 0) {
    for (weir::TableGradients& gradients : *push.mutable_tables()) weir::server::Seal(gradients.mutable_frame());
    weir::server::Seal(push.mutable_pooled_frame());
  }
  weir::server::Try(push, data[0]);
  return 0;
}
