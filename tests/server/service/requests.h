// Requests as a client builds them, for tests of the handlers. Keys that other tests would find awkward to spell are given by lists.
#ifndef WEIR_TESTS_SERVER_SERVICE_REQUESTS_H_
#define WEIR_TESTS_SERVER_SERVICE_REQUESTS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/key.h"
#include "compression/frame.h"
#include "compression/frame_layout.h"
#include "compression/key_codec.h"
#include "proto/data_service.pb.h"
#include "server/service/data_plane.h"

namespace weir::server {

inline constexpr uint64_t kJobHash = 0xabcdef;
inline constexpr uint64_t kIncarnation = 55;

// Sorted when the keys are strictly increasing, raw otherwise.
inline TableKeys KeysOf(uint32_t table, const std::vector<Key>& keys) {
  TableKeys encoded;
  encoded.set_table(table);
  encoded.set_count(static_cast<uint32_t>(keys.size()));
  const bool increasing = std::adjacent_find(keys.begin(), keys.end(), [](Key a, Key b) { return a >= b; }) == keys.end();
  encoded.set_coding(increasing ? TableKeys::CODING_SORTED_DELTA : TableKeys::CODING_RAW);
  if (increasing) {
    compression::EncodeKeysSorted(keys, encoded.mutable_keys());
  } else {
    compression::EncodeKeysRaw(keys, encoded.mutable_keys());
  }
  return encoded;
}

inline LookupRequest LookupOf(int64_t step, const std::vector<TableKeys>& tables) {
  LookupRequest request;
  request.set_job_hash(kJobHash);
  request.set_incarnation(kIncarnation);
  request.set_step(step);
  request.set_parts(1);
  request.set_purpose(LookupRequest::PURPOSE_TRAIN);
  request.set_reply(LookupRequest::REPLY_FP32);
  for (const TableKeys& keys : tables) *request.add_tables() = keys;
  return request;
}

inline PushRequest PushOf(int64_t step) {
  PushRequest request;
  request.set_job_hash(kJobHash);
  request.set_incarnation(kIncarnation);
  request.set_step(step);
  request.set_parts(1);
  request.set_samples(1);
  return request;
}

// A dense fp32 frame of any values, NaN included, which encoders refuse: it is encoded with zeros, and the values put in after.
inline std::string FrameOf(const std::vector<float>& values) {
  std::string frame;
  (void)compression::EncodeDense(std::vector<float>(values.size(), 0.0f), compression::ValueType::kFp32, &frame);
  const size_t end = frame.size() - compression::kFrameChecksumBytes;
  std::memcpy(&frame[end - values.size() * sizeof(float)], values.data(), values.size() * sizeof(float));
  const uint32_t checksum = compression::FrameChecksum(frame.data(), end);
  std::memcpy(&frame[end], &checksum, sizeof(checksum));
  return frame;
}

inline TableGradients GradientsOf(const TableKeys& keys, const std::vector<float>& gradients) {
  TableGradients encoded;
  *encoded.mutable_keys() = keys;
  encoded.set_frame(FrameOf(gradients));
  return encoded;
}

// For a push with a ticket.
inline TableGradients GradientsOf(uint32_t table, const std::vector<float>& gradients) {
  TableKeys only_table;
  only_table.set_table(table);
  return GradientsOf(only_table, gradients);
}

// A lookup that need not wait.
inline absl::Status Lookup(const DataPlane& plane, const LookupRequest& request, LookupReply* reply) {
  absl::Status status = absl::InternalError("the lookup waits");
  LookupCall call;
  call.request = &request;
  call.reply = reply;
  call.done = [&status](absl::Status answer) { status = std::move(answer); };
  plane.lookups().Start(&call);
  plane.lookups().Cancel(&call);
  return status;
}

inline absl::Status Push(const DataPlane& plane, const PushRequest& request, PushReply* reply) {
  auto released = plane.pushes().Push(request, reply);
  if (!released.ok()) return released.status();
  for (const auto& resume : *released) resume();
  return absl::OkStatus();
}

inline std::vector<float> Decode(const std::string& frame, size_t size) {
  std::vector<float> values(size, -1e30f);
  (void)compression::DecodeInto(frame, absl::MakeSpan(values));
  return values;
}

// The rows of one table as they stand.
inline std::vector<float> RowsOf(const DataPlane& plane, uint32_t table, const std::vector<Key>& keys) {
  std::vector<float> rows(keys.size() * plane.tables().at(table).dim());
  (void)plane.tables().at(table).Lookup(keys, absl::MakeSpan(rows));
  return rows;
}

}  // namespace weir::server

#endif  // WEIR_TESTS_SERVER_SERVICE_REQUESTS_H_
