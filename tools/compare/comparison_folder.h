// The folder of a comparison, held by one process at a time.
#ifndef WEIR_TOOLS_COMPARE_COMPARISON_FOLDER_H_
#define WEIR_TOOLS_COMPARE_COMPARISON_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace weir::tools {

// Holds the folder until it goes: two comparisons in one folder would remove each other's runs. The kernel lets go of what a dead process
// held.
class ComparisonFolder {
 public:
  // Makes the folder where there is none. FAILED_PRECONDITION: another process holds it; an error of the system names the path.
  static absl::StatusOr<ComparisonFolder> Open(const std::string& dir);
  ComparisonFolder(ComparisonFolder&& other) : fd_(std::exchange(other.fd_, -1)) {}
  ComparisonFolder& operator=(ComparisonFolder&&) = delete;
  ~ComparisonFolder();

 private:
  explicit ComparisonFolder(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_COMPARE_COMPARISON_FOLDER_H_
