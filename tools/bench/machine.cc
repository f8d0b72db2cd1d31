#include "tools/bench/machine.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "tools/report/human_units.h"

namespace weir::tools {
namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
  }
  return "unknown";
}

// The setting that stands in brackets: "always [madvise] never".
std::string HugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const size_t begin = line.find('['), end = line.find(']');
  return begin == std::string::npos || end < begin ? "unknown" : line.substr(begin + 1, end - begin - 1);
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  machine.processor = ProcessorName();
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) machine.cores = static_cast<uint32_t>(CPU_COUNT(&allowed));
  machine.memory_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  utsname system;
  if (uname(&system) == 0) machine.kernel = absl::StrCat(system.sysname, " ", system.release);
  machine.huge_pages = HugePages();
  if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
  return machine;
}

std::string Describe(const Machine& machine) {
  return absl::StrFormat("%s, %d cores, %s, %s, huge pages %s, load %.1f", machine.processor, machine.cores,
                         HumanBytes(static_cast<double>(machine.memory_bytes)), machine.kernel, machine.huge_pages, machine.load);
}

}  // namespace weir::tools
