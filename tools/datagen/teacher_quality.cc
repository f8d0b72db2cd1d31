#include "tools/datagen/teacher_quality.h"

#include <algorithm>
#include <cmath>

#include "base/binary_metrics.h"

namespace weir::tools {

void TeacherQuality::Add(double probability, uint8_t label) {
  const auto bin = static_cast<uint32_t>(std::clamp(probability * kBins, 0.0, kBins - 1.0));
  ++(label != 0 ? positives_ : negatives_)[bin];
  ++rows_;
  clicks_ += label;
  loss_ -= std::log(std::max(label != 0 ? probability : 1 - probability, 1e-7));
}

double TeacherQuality::click_rate() const { return rows_ == 0 ? 0 : static_cast<double>(clicks_) / static_cast<double>(rows_); }

double TeacherQuality::logloss() const { return rows_ == 0 ? 0 : loss_ / static_cast<double>(rows_); }

double TeacherQuality::auc() const { return AucOfBins(positives_, negatives_); }

}  // namespace weir::tools
