// Where accepted pushes are recorded before they are answered.
#ifndef WEIR_SERVER_TABLE_PUSH_RECORDER_H_
#define WEIR_SERVER_TABLE_PUSH_RECORDER_H_

#include <string>

#include "absl/status/status.h"
#include "server/table/push_part.h"

namespace weir::server {

// Thread-safe.
class PushRecorder {
 public:
  virtual ~PushRecorder() = default;
  // What Record would take: made before it is known whether the push is accepted, with no lock held.
  virtual std::string Prepare(const PushPart& part) const = 0;
  // The push has been accepted; when this fails nobody is told so.
  virtual absl::Status Record(const std::string& prepared) = 0;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_PUSH_RECORDER_H_
