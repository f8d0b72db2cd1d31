// On the device: with --config=cuda the GPU, without it the reference.
#include "cuda/select_kept.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "compression/threshold.h"
#include "tests/cuda/device_fixture.h"
#include "tests/cuda/select_kept_cases.h"

namespace weir::cuda {
namespace {

struct Arrays {
  DeviceBuffer<float> gradient;
  DeviceBuffer<float> residual;
};

Arrays OnDevice(const SelectKeptCase& input) {
  return {*DeviceBuffer<float>::CopyOf(input.gradient), *DeviceBuffer<float>::CopyOf(input.residual)};
}

// A selection of the gradient's size.
absl::StatusOr<KeptSelection> Select(const SelectKeptCase& input) {
  const Arrays arrays = OnDevice(input);
  absl::StatusOr<KeptSelection> selection = KeptSelection::Create(static_cast<uint32_t>(input.gradient.size()));
  if (!selection.ok()) return selection;
  const absl::Status status = SelectKept({&arrays.gradient, &arrays.residual, input.threshold}, &*selection);
  if (!status.ok()) return status;
  return selection;
}

class SelectKeptTest : public DeviceFixture {
 protected:
  static void ExpectPlainLoop(const std::vector<SelectKeptCase>& cases) {
    for (const SelectKeptCase& input : cases) {
      SCOPED_TRACE(input.name);
      const absl::StatusOr<KeptSelection> selection = Select(input);
      ASSERT_TRUE(selection.ok()) << selection.status();
      const ExpectedSelection expected = SelectByPlainLoop(input);
      ASSERT_EQ(selection->count, expected.positions.size());
      EXPECT_EQ(*selection->positions.ToHost(selection->count), expected.positions);
      EXPECT_EQ(*selection->values.ToHost(selection->count), expected.values);
      EXPECT_EQ(*selection->unsent.ToHost(input.gradient.size()), expected.unsent);
    }
  }
};

TEST_F(SelectKeptTest, EqualsAPlainLoop) { ExpectPlainLoop(NormalCases()); }

TEST_F(SelectKeptTest, EqualsAPlainLoopAtTheEdges) { ExpectPlainLoop(EdgeCases()); }

TEST_F(SelectKeptTest, KeepsWhatTheHostsCodecKeeps) {
  for (const SelectKeptCase& input : NormalCases()) {
    SCOPED_TRACE(input.name);
    std::vector<uint32_t> kept;
    compression::SelectKept(SumsOf(input), input.threshold, 0, &kept);
    const absl::StatusOr<KeptSelection> selection = Select(input);
    ASSERT_TRUE(selection.ok()) << selection.status();
    EXPECT_EQ(*selection->positions.ToHost(selection->count), kept);
  }
}

// Small entries wait in the residual until their sum passes: nothing is lost. Steps reuse one selection and swap its `unsent` in.
TEST_F(SelectKeptTest, TheResidualCarriesWhatWasNotSent) {
  constexpr uint32_t kSize = 4;
  const auto gradient = DeviceBuffer<float>::CopyOf({1.0f, 0.25f, -0.5f, 0.0f});
  auto residual = DeviceBuffer<float>::CopyOf(std::vector<float>(kSize, 0.0f));
  auto selection = KeptSelection::Create(kSize);
  ASSERT_TRUE(gradient.ok() && residual.ok() && selection.ok());
  std::vector<float> sent(kSize, 0.0f);
  const std::vector<std::vector<uint32_t>> expected = {{0}, {0, 2}, {0}, {0, 1, 2}};
  for (const std::vector<uint32_t>& positions : expected) {
    ASSERT_TRUE(SelectKept({&*gradient, &*residual, 1.0f}, &*selection).ok());
    EXPECT_EQ(*selection->positions.ToHost(selection->count), positions);
    const std::vector<float> values = *selection->values.ToHost(selection->count);
    for (size_t i = 0; i < positions.size(); ++i) sent[positions[i]] += values[i];
    std::swap(*residual, selection->unsent);
  }
  EXPECT_EQ(sent, (std::vector<float>{4, 1, -2, 0}));
}

TEST_F(SelectKeptTest, RefusesWhatIsNotFinite) {
  const absl::Status status = Select({"", {1, 2, std::numeric_limits<float>::quiet_NaN()}, {0, 0, 0}, 0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("entry 2 of 3"), std::string::npos) << status;
}

TEST_F(SelectKeptTest, RefusesArgumentsThatMakeNoSense) {
  EXPECT_EQ(Select({"a short residual", {1, 2}, {0}, 0}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Select({"a negative threshold", {1}, {0}, -1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Select({"no threshold", {1}, {0}, std::numeric_limits<float>::quiet_NaN()}).status().code(),
            absl::StatusCode::kInvalidArgument);

  const Arrays arrays = OnDevice({"", {1, 2}, {0, 0}, 0});
  auto small = KeptSelection::Create(1);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(SelectKept({&arrays.gradient, &arrays.residual, 0}, &*small).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(small->count, 0);
}

}  // namespace
}  // namespace weir::cuda
