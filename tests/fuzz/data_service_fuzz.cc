// Calls of the data service, as a hostile client might send them: any request is answered, none crashes, and nothing takes more than its
// limits. The input is a list of calls: a byte (even: Lookup, odd: Push), two bytes of length, the serialised request. What would stop
// every mutation at the door is put right first: the job's hash, and the checksums of frames.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "compression/frame_layout.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

void Seal(std::string* frame) {
  if (frame->size() < compression::kFramePrefixBytes + compression::kFrameChecksumBytes) return;
  const size_t end = frame->size() - compression::kFrameChecksumBytes;
  const uint32_t checksum = compression::FrameChecksum(frame->data(), end);
  std::memcpy(&(*frame)[end], &checksum, sizeof(checksum));
}

void CallLookup(const DataPlane& plane, absl::string_view bytes) {
  LookupRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  request.set_job_hash(kJobHash);
  LookupReply reply;
  const absl::Status status = Lookup(plane, request, &reply);
  if (!status.ok() && status.message().empty()) std::abort();
}

void CallPush(const DataPlane& plane, absl::string_view bytes) {
  PushRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  request.set_job_hash(kJobHash);
  Seal(request.mutable_pooled_frame());
  for (TableGradients& table : *request.mutable_tables()) Seal(table.mutable_frame());
  PushReply reply;
  const absl::Status status = Push(plane, request, &reply);
  if (!status.ok() && status.message().empty()) std::abort();
}

void MakeCalls(absl::string_view input) {
  SmallJob job;
  job.shards = 2;
  Job settings = job.Make();
  // Replies of changes are then allowed as well as the others.
  settings.mutable_compression()->mutable_lookup()->set_scope(Compression::SCOPE_CHANGE);
  settings.mutable_compression()->mutable_lookup()->set_cache_rows(1000);
  const auto plane = DataPlane::Create({settings, kJobHash});
  if (!plane.ok()) std::abort();
  while (input.size() > 3) {
    const bool push = (input[0] & 1) != 0;
    const size_t size = static_cast<uint8_t>(input[1]) | static_cast<size_t>(static_cast<uint8_t>(input[2])) << 8;
    input.remove_prefix(3);
    const absl::string_view bytes = input.substr(0, size);
    push ? CallPush(**plane, bytes) : CallLookup(**plane, bytes);
    input.remove_prefix(bytes.size());
  }
  (void)(*plane)->Describe();
}

}  // namespace
}  // namespace weir::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::server::MakeCalls({reinterpret_cast<const char*>(data), size});
  return 0;
}
