// Whether processes are left, for tests of who cleans up.
#ifndef WEIR_TESTS_TOOLS_LAUNCH_PROCESS_GROUPS_H_
#define WEIR_TESTS_TOOLS_LAUNCH_PROCESS_GROUPS_H_

#include <poll.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace weir::tools {

// Polls until the condition holds; false after 20 s.
template <typename Condition>
bool Eventually(const Condition& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

// Whether a process of the group runs. A zombie does not: it is a number that waits for its parent.
inline bool GroupRuns(pid_t group) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ostringstream text;
    text << std::ifstream(entry.path() / "stat").rdbuf();
    const std::string stat = text.str();
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0, of = 0;
    std::istringstream(stat.substr(name_end + 1)) >> state >> parent >> of;
    if (of == group && state != 'Z' && state != 'X') return true;
  }
  return false;
}

}  // namespace weir::tools

#endif  // WEIR_TESTS_TOOLS_LAUNCH_PROCESS_GROUPS_H_
