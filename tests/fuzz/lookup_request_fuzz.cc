// Lookup requests, from bytes to the answer. Input: a serialised LookupRequest; its job_hash is put right, which random bytes would never
// guess.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "compression/frame.h"
#include "server/service/data_plane.h"
#include "tests/server/service/requests.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

void Demand(bool holds) {
  if (!holds) abort();
}

void CheckAnswer(const DataPlane& plane, const LookupRequest& request, const LookupReply& reply) {
  if (request.reply() == LookupRequest::REPLY_POOLED_DCT) {
    Demand(reply.tables_size() == 0 && compression::DecodeHeader(reply.pooled_frame()).ok());
    return;
  }
  Demand(reply.tables_size() == request.tables_size() && reply.pooled_frame().empty());
  for (int i = 0; i < reply.tables_size(); ++i) {
    Demand(reply.tables(i).table() == request.tables(i).table() && reply.tables(i).initial() == request.tables(i).count());
    const auto header = compression::DecodeHeader(reply.tables(i).frame());
    Demand(header.ok() && header->size == request.tables(i).count() * plane.tables().at(request.tables(i).table()).dim());
  }
}

void Try(const LookupRequest& request) {
  EmbeddingServerOptions options;
  options.job = SmallJob{}.Make();
  options.job_hash = kJobHash;
  const std::unique_ptr<DataPlane> plane = *DataPlane::Create(options);
  LookupReply reply;
  int answers = 0;
  absl::Status status;
  LookupCall call;
  call.request = &request;
  call.reply = &reply;
  call.done = [&](absl::Status answer) {
    status = std::move(answer);
    ++answers;
  };
  plane->lookups().Start(&call);
  if (answers == 0) plane->lookups().Cancel(&call);
  Demand(answers == 1);
  Demand(plane->tables().rows() == 0);
  if (status.ok()) CheckAnswer(*plane, request, reply);
}

}  // namespace
}  // namespace weir::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::LookupRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  request.set_job_hash(weir::server::kJobHash);
  weir::server::Try(request);
  return 0;
}
