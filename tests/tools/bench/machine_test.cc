#include "tools/bench/machine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::tools {
namespace {

TEST(MachineTest, KnowsThisOne) {
  const Machine machine = ThisMachine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GE(machine.cores, 1u);
  EXPECT_GT(machine.memory_bytes, uint64_t{1} << 28);
  EXPECT_THAT(machine.kernel, ::testing::StartsWith("Linux "));
}

TEST(MachineTest, DescribesItInALine) {
  EXPECT_EQ(Describe({"AMD EPYC", 2, 25'200'000'000, "Linux 6.18", "madvise", 0.44}),
            "AMD EPYC, 2 cores, 25.2 GB, Linux 6.18, huge pages madvise, load 0.4");
}

}  // namespace
}  // namespace weir::tools
