#include "tools/launch/resize_command.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::tools {
namespace {

// The rest is tests/integration/resize_test.cc.
TEST(ResizeCommandTest, AFolderWithoutARunningJobIsNamed) {
  const auto signals = StopSignals::Create();
  ASSERT_TRUE(signals.ok()) << signals.status();
  const absl::Status status = Resize({::testing::TempDir() + "/nothing", 2}, signals->get());
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("nothing/coordinator.address"));
}

}  // namespace
}  // namespace weir::tools
