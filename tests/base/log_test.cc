#include "base/log.h"

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

}  // namespace
}  // namespace weir
