// Initial values of rows: a pure function of (seed, table, key), so that every server and every client, at every time, gives a row the
// same start: a key without a row needs no memory, and its row need not travel.
#ifndef WEIR_PROTO_ROW_INITIALIZER_H_
#define WEIR_PROTO_ROW_INITIALIZER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "proto/job.pb.h"

namespace weir {

// Immutable, thread-safe.
class RowInitializer {
 public:
  virtual ~RowInitializer() = default;
  virtual void Fill(Key key, absl::Span<float> weights) const = 0;
};

// What the values depend on beside the key.
struct InitializerStream {
  uint64_t seed = 0;   // of the job
  uint32_t table = 0;  // index
};

// uniform: weight i is scale * (2 u - 1), u = KeyedUniform(Mix64(Mix64(seed, table), key), i), computed in double; constant: scale.
// REQUIRES: scale is set. INVALID_ARGUMENT: no type.
absl::StatusOr<std::unique_ptr<RowInitializer>> MakeRowInitializer(const Initializer& settings, InitializerStream stream);

}  // namespace weir

#endif  // WEIR_PROTO_ROW_INITIALIZER_H_
