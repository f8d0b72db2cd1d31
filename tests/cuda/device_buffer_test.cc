#include "cuda/device_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tests/cuda/device_fixture.h"

namespace weir::cuda {
namespace {

// Runs also where there is no device: then every operation says the same.
TEST(DeviceTest, AllocationSaysWhatTheStatusSays) {
  const absl::Status device = DeviceStatus();
  EXPECT_TRUE(device.ok() || device.code() == absl::StatusCode::kFailedPrecondition) << device;
  EXPECT_EQ(DeviceBuffer<float>::Create(1).status().code(), device.code());
}

using DeviceBufferTest = DeviceFixture;

TEST_F(DeviceBufferTest, CopiesThereAndBack) {
  for (const size_t size : {0u, 1u, 1000u, 1u << 20}) {
    std::vector<uint32_t> host(size);
    for (size_t i = 0; i < size; ++i) host[i] = static_cast<uint32_t>(i * 2654435761u);
    auto buffer = DeviceBuffer<uint32_t>::CopyOf(host);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ(buffer->size(), size);
    const DeviceBuffer<uint32_t> moved = *std::move(buffer);
    EXPECT_EQ(*moved.ToHost(size), host);
    EXPECT_EQ(*moved.ToHost(size / 2), std::vector<uint32_t>(host.begin(), host.begin() + size / 2));
  }
}

TEST_F(DeviceBufferTest, TooMuchIsAnError) {
  for (const size_t size : {std::numeric_limits<size_t>::max(), size_t{1} << 60}) {
    EXPECT_EQ(DeviceBuffer<double>::Create(size).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE(DeviceBuffer<double>::Create(1).ok());
}

}  // namespace
}  // namespace weir::cuda
