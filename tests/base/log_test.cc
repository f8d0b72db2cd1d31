#include "base/log.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(LogTest, RenamingAProcessKeepsItsLevel) {
  StartProcess("worker");
  EXPECT_EQ(spdlog::default_logger()->name(), "worker");
  spdlog::set_level(spdlog::level::warn);
  NameProcess("worker 3");
  EXPECT_EQ(spdlog::default_logger()->name(), "worker 3");
  EXPECT_EQ(spdlog::get_level(), spdlog::level::warn);
}

TEST(LogTest, WritingToAPeerThatIsGoneIsAnError) {
  std::signal(SIGPIPE, SIG_DFL);  // as the launcher starts its children
  StartProcess("worker");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace weir
