// A test that needs the device: skipped, with the reason, where there is none. Single-threaded, as tests are.
#ifndef WEIR_TESTS_CUDA_DEVICE_FIXTURE_H_
#define WEIR_TESTS_CUDA_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include "cuda/device.h"

namespace weir::cuda {

class DeviceFixture : public testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = DeviceStatus(); !status.ok()) GTEST_SKIP() << status;
  }
};

}  // namespace weir::cuda

#endif  // WEIR_TESTS_CUDA_DEVICE_FIXTURE_H_
