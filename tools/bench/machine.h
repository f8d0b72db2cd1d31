// The machine that figures were taken on.
#ifndef WEIR_TOOLS_BENCH_MACHINE_H_
#define WEIR_TOOLS_BENCH_MACHINE_H_

#include <cstdint>
#include <string>

namespace weir::tools {

struct Machine {
  std::string processor;  // "unknown" where the kernel does not tell
  uint32_t cores = 0;     // that this process may use
  uint64_t memory_bytes = 0;
  std::string kernel;
  std::string huge_pages;  // "always", "madvise", "never"
  double load = 0;         // processes that ran or waited to, over the last minute
};

Machine ThisMachine();

// "AMD EPYC, 2 cores, 25.2 GB, Linux 6.18, huge pages madvise, load 0.4".
std::string Describe(const Machine& machine);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_BENCH_MACHINE_H_
