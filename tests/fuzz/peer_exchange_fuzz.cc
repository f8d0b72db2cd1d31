// Contributions to the dense reduction, as a broken peer might send them. The input is one serialised ReduceRequest; the job's hash and the
// frames' checksums are put right first.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compression/frame_layout.h"
#include "worker/peer_exchange.h"

namespace weir::worker {
namespace {

constexpr uint64_t kJobHash = 1;

void Contribute(const uint8_t* data, size_t size) {
  ReduceRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return;
  request.set_job_hash(kJobHash);
  for (std::string& frame : *request.mutable_frames()) {
    if (frame.size() < compression::kFrameChecksumBytes) continue;
    const size_t end = frame.size() - compression::kFrameChecksumBytes;
    const uint32_t checksum = compression::FrameChecksum(frame.data(), end);
    std::memcpy(&frame[end], &checksum, sizeof(checksum));
  }
  PeerExchange exchange;
  exchange.Configure({kJobHash, 0, 1, false, {{3, compression::ValueType::kFp16}, {1000, compression::ValueType::kFp16}}});
  bool answered = false;
  exchange.Contribute(request, [&answered](const absl::Status& status, const ReduceReply& reply) {
    answered = true;
    if (status.ok() != (reply.frames_size() == 2)) std::abort();
  });
  if (!answered) std::abort();
}

}  // namespace
}  // namespace weir::worker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::worker::Contribute(data, size);
  return 0;
}
