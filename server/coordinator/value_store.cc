#include "server/coordinator/value_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"

namespace weir::server {
namespace {

constexpr size_t kKeysPerGetMax = size_t{kServersMax} + kWorkersMax;
constexpr size_t kKeysNamedMax = 8;

}  // namespace

absl::Status ValueStore::Put(const PutValueRequest& request, Answers* answers) {
  if (request.key().empty() || request.key().size() > kValueKeyBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a key has 1 to ", kValueKeyBytesMax, " bytes, this one has ", request.key().size()));
  }
  if (request.value().size() > kValueBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the value of '", request.key(), "' has ", request.value().size(), " bytes; at most ", kValueBytesMax));
  }
  const auto found = values_.find(request.key());
  if (found != values_.end()) {
    if (found->second == request.value()) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat("'", request.key(), "' has another value already: two processes claim it"));
  }
  if (values_.size() >= kValuesMax)
    return absl::ResourceExhaustedError(absl::StrCat("the store holds ", kValuesMax, " values and takes no more"));
  values_.emplace(request.key(), request.value());
  const auto waiting = std::remove_if(readers_.begin(), readers_.end(), [&](Reader& reader) { return TryAnswer(&reader, answers); });
  readers_.erase(waiting, readers_.end());
  return absl::OkStatus();
}

void ValueStore::Get(const GetValuesRequest& request, GetValuesReply* reply, WaitingCall call, Answers* answers) {
  if (static_cast<size_t>(request.keys_size()) > kKeysPerGetMax) {
    answers->Add(std::move(call), absl::ResourceExhaustedError(absl::StrCat("a call asks for at most ", kKeysPerGetMax, " values")));
    return;
  }
  Reader reader{{request.keys().begin(), request.keys().end()}, reply, std::move(call)};
  if (TryAnswer(&reader, answers)) return;
  if (readers_.size() >= kWaitingCallsMax) {
    answers->Add(std::move(reader.call), absl::ResourceExhaustedError("too many calls wait for values"));
    return;
  }
  readers_.push_back(std::move(reader));
}

bool ValueStore::TryAnswer(Reader* reader, Answers* answers) const {
  size_t bytes = 0;
  for (const std::string& key : reader->keys) {
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    bytes += found->second.size();
  }
  if (bytes > kMessageBytesMax / 2) {
    answers->Add(std::move(reader->call),
                 absl::ResourceExhaustedError(absl::StrCat("the values have ", bytes, " bytes together; ask for fewer")));
    return true;
  }
  for (const std::string& key : reader->keys) reader->reply->add_values(values_.find(key)->second);
  answers->Add(std::move(reader->call), absl::OkStatus());
  return true;
}

std::vector<std::string> ValueStore::Missing(const Reader& reader) const {
  std::vector<std::string> missing;
  for (const std::string& key : reader.keys) {
    if (!values_.contains(key)) missing.push_back(key);
  }
  return missing;
}

void ValueStore::Expire(absl::Time now, Answers* answers) {
  const auto expired = [&](Reader& reader) {
    if (reader.call.deadline > now) return false;
    std::vector<std::string> missing = Missing(reader);
    const size_t count = missing.size();
    if (count > kKeysNamedMax) missing.resize(kKeysNamedMax);
    answers->Add(std::move(reader.call), absl::DeadlineExceededError(absl::StrCat(
                                             "nobody has put ", absl::StrJoin(missing, ", "),
                                             count > kKeysNamedMax ? absl::StrCat(" and ", count - kKeysNamedMax, " more") : "")));
    return true;
  };
  readers_.erase(std::remove_if(readers_.begin(), readers_.end(), expired), readers_.end());
}

void ValueStore::FailAll(const absl::Status& status, Answers* answers) {
  for (Reader& reader : readers_) answers->Add(std::move(reader.call), status);
  readers_.clear();
}

}  // namespace weir::server
