#include "server/service/call_keys.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "compression/key_codec.h"

namespace weir::server {
namespace {

absl::StatusOr<std::vector<Key>> Decode(const TableKeys& keys) {
  switch (keys.coding()) {
    case TableKeys::CODING_RAW:
      return compression::DecodeKeysRaw(keys.keys(), keys.count());
    case TableKeys::CODING_SORTED_RICE:
      return compression::DecodeKeysRice(keys.keys(), keys.count());
    case TableKeys::CODING_SORTED_DELTA:
      return compression::DecodeKeysSorted(keys.keys(), keys.count());
    default:
      return absl::InvalidArgumentError(absl::StrCat("coding ", keys.coding(), " is unknown"));
  }
}

}  // namespace

absl::StatusOr<CallKeys> DecodeCallKeys(const TableKeys& keys, const TableRegistry& tables) {
  CallKeys decoded;
  WEIR_ASSIGN_OR_RETURN(decoded.table, tables.Find(keys.table()));
  const std::string& name = decoded.table->spec().name;
  if (keys.count() > kKeysPerTableCallMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("table ", name, ", count: ", keys.count(), " keys in one call, at most ", kKeysPerTableCallMax));
  }
  absl::StatusOr<std::vector<Key>> list = Decode(keys);
  if (!list.ok()) return absl::InvalidArgumentError(absl::StrCat("table ", name, ", keys: ", list.status().message()));
  decoded.keys = *std::move(list);
  decoded.distinct = keys.coding() != TableKeys::CODING_RAW || decoded.keys.size() < 2;
  return decoded;
}

absl::Status CallBudget::Add(const Table& table, uint64_t keys) {
  if (seen_[table.index()]) {
    return absl::InvalidArgumentError(absl::StrCat("table ", table.spec().name, " is named twice in one call"));
  }
  seen_[table.index()] = true;
  entries_ += keys * table.dim();
  if (entries_ <= kFrameEntriesMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the call holds ", entries_, " numbers up to table ", table.spec().name, ", at most ",
                                                   kFrameEntriesMax, " may be in one: split it"));
}

absl::Status CheckJobHash(uint64_t callers, uint64_t servers) {
  if (callers == servers) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("job_hash: the caller runs job ", absl::Hex(callers), ", this server job ",
                                                    absl::Hex(servers), "; all processes must run the same effective job"));
}

}  // namespace weir::server
