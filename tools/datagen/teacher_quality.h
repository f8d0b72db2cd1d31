// How well the teacher itself predicts the labels that it gave: the best that any model can reach.
#ifndef WEIR_TOOLS_DATAGEN_TEACHER_QUALITY_H_
#define WEIR_TOOLS_DATAGEN_TEACHER_QUALITY_H_

#include <cstdint>
#include <vector>

namespace weir::tools {

// Constant memory. Single-threaded.
class TeacherQuality {
 public:
  TeacherQuality() : positives_(kBins), negatives_(kBins) {}

  void Add(double probability, uint8_t label);

  uint64_t rows() const { return rows_; }
  double click_rate() const;
  double logloss() const;
  // Within 1e-4 of the exact value: rows of probabilities less than 1 / kBins apart count as ties.
  double auc() const;

 private:
  static constexpr uint32_t kBins = 16384;

  uint64_t rows_ = 0;
  uint64_t clicks_ = 0;
  double loss_ = 0;
  std::vector<uint64_t> positives_;  // by bin of the probability
  std::vector<uint64_t> negatives_;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_DATAGEN_TEACHER_QUALITY_H_
