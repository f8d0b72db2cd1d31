#include "base/log.h"

#include <malloc.h>

#include <csignal>

#include "spdlog/sinks/stdout_color_sinks.h"

namespace weir {
namespace {

void KeepHeap() {
  // Never trim, and never map large blocks singly: message buffers are reused instead of being faulted in again.
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

void StartProcess(const std::string& process) {
  KeepHeap();
  // Gloo writes to its sockets without asking not to be signalled.
  std::signal(SIGPIPE, SIG_IGN);
  NameProcess(process);
}

void NameProcess(const std::string& process) {
  // A logger that replaces the default one keeps its level.
  const auto level = spdlog::get_level();
  auto logger = std::make_shared<spdlog::logger>(process, std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%L%$ %n: %v");
  spdlog::set_default_logger(std::move(logger));
  spdlog::set_level(level);
}

}  // namespace weir
