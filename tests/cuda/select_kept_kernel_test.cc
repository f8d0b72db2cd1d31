// On the processor in every build: the reference, or with --config=cuda the GPU's source compiled for the processor.
#include "cuda/select_kept_kernel.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/cuda/select_kept_cases.h"

namespace weir::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Selection {
  SelectKeptResult result;
  std::vector<uint32_t> positions;
  std::vector<float> values;
  std::vector<float> unsent;
};

Selection RunOnProcessor(const SelectKeptCase& input) {
  const size_t size = input.gradient.size();
  Selection selection{{}, std::vector<uint32_t>(size), std::vector<float>(size), std::vector<float>(size)};
  const absl::StatusOr<SelectKeptResult> result =
      RunSelectKept({input.gradient.data(), input.residual.data(), input.threshold, size, selection.positions.data(),
                     selection.values.data(), selection.unsent.data()});
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return selection;
  selection.result = *result;
  selection.positions.resize(result->kept);
  selection.values.resize(result->kept);
  return selection;
}

void ExpectPlainLoop(const std::vector<SelectKeptCase>& cases) {
  for (const SelectKeptCase& input : cases) {
    SCOPED_TRACE(input.name);
    const Selection selection = RunOnProcessor(input);
    const ExpectedSelection expected = SelectByPlainLoop(input);
    EXPECT_EQ(selection.result.finite, input.gradient.size());
    EXPECT_EQ(selection.positions, expected.positions);
    EXPECT_EQ(selection.values, expected.values);
    EXPECT_EQ(selection.unsent, expected.unsent);
  }
}

TEST(SelectKeptKernelTest, EqualsAPlainLoop) { ExpectPlainLoop(NormalCases()); }

TEST(SelectKeptKernelTest, EqualsAPlainLoopAtTheEdges) { ExpectPlainLoop(EdgeCases()); }

TEST(SelectKeptKernelTest, TellsTheFirstSumThatIsNotFinite) {
  EXPECT_EQ(RunOnProcessor({"not a number", {1, kNan, kInfinity}, {0, 0, 0}, 0}).result.finite, 1);
  EXPECT_EQ(RunOnProcessor({"infinite", {1, 2, -kInfinity}, {0, 0, 0}, 0}).result.finite, 2);
  EXPECT_EQ(RunOnProcessor({"by the residual", {kInfinity, 2}, {-kInfinity, 0}, 0}).result.finite, 0);
  EXPECT_EQ(RunOnProcessor({"by the sum", {1, 2, 3, 3e38f}, {0, 0, 0, 3e38f}, 0}).result.finite, 3);
}

}  // namespace
}  // namespace weir::cuda
