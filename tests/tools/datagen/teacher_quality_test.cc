#include "tools/datagen/teacher_quality.h"

#include <cmath>
#include <vector>

#include "base/binary_metrics.h"
#include "gtest/gtest.h"
#include "tools/datagen/row_generator.h"

namespace weir::tools {
namespace {

TEST(TeacherQualityTest, ClosedForm) {
  TeacherQuality quality;
  quality.Add(0.25, 0);
  quality.Add(0.25, 1);
  quality.Add(0.75, 1);
  quality.Add(0.75, 0);
  EXPECT_EQ(quality.rows(), 4);
  EXPECT_DOUBLE_EQ(quality.click_rate(), 0.5);
  EXPECT_DOUBLE_EQ(quality.logloss(), -(std::log(0.25) + std::log(0.75)) / 2);
  EXPECT_DOUBLE_EQ(quality.auc(), 0.5);
}

TEST(TeacherQualityTest, NothingAddedIsNoError) {
  const TeacherQuality quality;
  EXPECT_EQ(quality.rows(), 0);
  EXPECT_EQ(quality.logloss(), 0);
  EXPECT_EQ(quality.click_rate(), 0);
}

TEST(TeacherQualityTest, CertainProbabilitiesStayFinite) {
  TeacherQuality quality;
  quality.Add(1, 0);
  quality.Add(0, 1);
  quality.Add(1, 1);
  EXPECT_TRUE(std::isfinite(quality.logloss()));
}

TEST(TeacherQualityTest, AgreesWithTheExactMetrics) {
  const RowGenerator generator(RowOptions{});
  TeacherQuality quality;
  std::vector<float> scores;
  std::vector<uint8_t> labels;
  for (uint64_t i = 0; i < 100000; ++i) {
    const GeneratedRow row = generator.Row(i);
    quality.Add(row.probability, row.label);
    scores.push_back(static_cast<float>(row.probability));
    labels.push_back(row.label);
  }
  const BinaryQuality exact = EvaluateBinary(scores, labels);
  EXPECT_NEAR(quality.auc(), exact.auc, 1e-4);
  EXPECT_NEAR(quality.logloss(), exact.logloss, 1e-6);
  EXPECT_NEAR(exact.calibration, 1, 0.02) << "the teacher is right about its own labels";
  EXPECT_GT(exact.auc, 0.77);
  EXPECT_LT(exact.auc, 0.82);
}

}  // namespace
}  // namespace weir::tools
