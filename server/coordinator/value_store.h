// The rendezvous store: values appear once, do not change, and can be waited for.
#ifndef WEIR_SERVER_COORDINATOR_VALUE_STORE_H_
#define WEIR_SERVER_COORDINATOR_VALUE_STORE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/control_service.pb.h"
#include "server/coordinator/waiting_call.h"

namespace weir::server {

inline constexpr size_t kValueKeyBytesMax = 256;

// Thread-compatible.
class ValueStore {
 public:
  // ALREADY_EXISTS: the key has another value (the same one again is fine). RESOURCE_EXHAUSTED: a limit of base/limits.h, named.
  absl::Status Put(const PutValueRequest& request, Answers* answers);

  // Fills `reply` and answers `call` once every key has a value. RESOURCE_EXHAUSTED: too many keys, waiting calls or bytes. `reply` lives
  // until the answer.
  void Get(const GetValuesRequest& request, GetValuesReply* reply, WaitingCall call, Answers* answers);

  // Answers the calls whose deadline has passed; DEADLINE_EXCEEDED names the keys without a value.
  void Expire(absl::Time now, Answers* answers);
  void FailAll(const absl::Status& status, Answers* answers);

 private:
  struct Reader {
    std::vector<std::string> keys;
    GetValuesReply* reply;
    WaitingCall call;
  };
  // Answers the reader if it can be.
  bool TryAnswer(Reader* reader, Answers* answers) const;
  std::vector<std::string> Missing(const Reader& reader) const;

  absl::flat_hash_map<std::string, std::string> values_;
  std::vector<Reader> readers_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_COORDINATOR_VALUE_STORE_H_
