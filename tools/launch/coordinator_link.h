// What the launcher asks of the coordinator.
#ifndef WEIR_TOOLS_LAUNCH_COORDINATOR_LINK_H_
#define WEIR_TOOLS_LAUNCH_COORDINATOR_LINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/control_service.pb.h"

namespace weir::tools {

// Thread-safe. A call ends within a second.
class CoordinatorLink {
 public:
  // Connects lazily.
  static std::unique_ptr<CoordinatorLink> Open(const std::string& address);
  virtual ~CoordinatorLink() = default;

  virtual const std::string& address() const = 0;
  // Errors name the address.
  virtual absl::StatusOr<StatusReply> Status() = 0;
  // The job is to go on with so many servers (ControlService.Resize).
  virtual absl::Status Resize(uint32_t servers) = 0;
  // Ends the job as failed or interrupted.
  virtual absl::Status Stop(absl::string_view reason) = 0;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_COORDINATOR_LINK_H_
