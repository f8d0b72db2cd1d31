// Criteo-shaped rows with labels of a hidden teacher. Row i is a pure function of the options and i.
//
// Category f of a row is a rank in its vocabulary, drawn from a bounded power law (density ~ rank^-skew) and written as 8 hex digits that
// hide the rank. Integers are floor(exp(normal)): counts with heavy tails. Both are missing in some columns at about the rates of Criteo's
// Kaggle data. The teacher knows the columns as a worker sees them (x = log(count + 1), 0 where it is missing):
//   logit = bias + sum_j a_j x_j + sum_f e(f, rank_f) + sum over pairs (f, g) of <v(f, rank_f), v(g, rank_g)>
//   P(label = 1) = (1 - noise) * sigmoid(logit) + noise * kClickRate
// Effects e and vectors v are drawn by hashing; they fade with the rank, so that what a model can see often matters most. The three parts
// are scaled to fixed standard deviations and the bias to kClickRate, on a sample of rows.
#ifndef WEIR_TOOLS_DATAGEN_ROW_GENERATOR_H_
#define WEIR_TOOLS_DATAGEN_ROW_GENERATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace weir::tools {

inline constexpr uint32_t kIntegers = 13;
inline constexpr uint32_t kCategories = 26;
inline constexpr double kClickRate = 0.27;

using Vocabulary = std::array<uint32_t, kCategories>;

// The 26 sizes of Criteo's Kaggle data, each at most `size_max`.
Vocabulary KaggleVocabulary(uint32_t size_max);

struct RowOptions {
  uint64_t seed = 1;                                 // of the rows
  uint64_t teacher_seed = 1;                         // of what makes labels: files of one teacher fit together whatever their seed
  Vocabulary vocabulary = KaggleVocabulary(110000);  // 0.91 M ids in all
  double skew = 1.05;                                // with the default vocabulary: about 8.5 unique ids for each row in 1024 rows
  double noise = 0.05;                               // share of labels that are drawn blindly
};

// INVALID_ARGUMENT, naming the option: a vocabulary of 0 ids or above 2^31, a skew outside [0, 4], a noise outside [0, 1].
absl::Status CheckRowOptions(const RowOptions& options);

struct GeneratedRow {
  static constexpr int64_t kMissing = -1;

  uint8_t label = 0;
  std::array<int64_t, kIntegers> integers{};  // kMissing, or 0 and above
  std::array<int64_t, kCategories> ranks{};   // kMissing, or below the vocabulary's size
  double probability = 0;                     // of label 1: no model can know more
};

// Text of a category's id. Different ranks of a feature have different texts.
uint32_t CategoryId(uint32_t feature, uint32_t rank);

// Writes the row as a line of Criteo TSV, end included, and returns where it ends. REQUIRES: kRowBytesMax bytes at `out`.
inline constexpr size_t kRowBytesMax = 2 + kIntegers * 20 + kCategories * 9 + 1;
char* FormatRow(const GeneratedRow& row, char* out);

// Thread-safe: immutable.
class RowGenerator {
 public:
  // REQUIRES: CheckRowOptions(options).ok(). Takes about 0.1 s: it sets the scales on a sample of rows.
  explicit RowGenerator(const RowOptions& options);

  GeneratedRow Row(uint64_t index) const;

 private:
  static constexpr uint32_t kLatentDim = 4;

  // A power law on [0, size), sampled by its inverse.
  struct PowerLaw {
    double size;
    double exponent;  // 1 - skew; 0 stands for a skew of 1
    double span;      // (size + 1)^exponent - 1, or log(size + 1)
    int64_t RankOf(double uniform) const;
  };

  struct LogitParts {
    double integers = 0;
    double categories = 0;
    double pairs = 0;
  };

  void Draw(uint64_t stream, GeneratedRow* row) const;
  LogitParts Parts(const GeneratedRow& row) const;
  void Calibrate();

  const RowOptions options_;
  std::array<PowerLaw, kCategories> laws_;
  std::array<double, kIntegers> coefficients_;
  std::array<double, kCategories> weights_;  // how much a feature matters
  LogitParts scale_ = {1, 1, 1};
  double bias_ = 0;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_DATAGEN_ROW_GENERATOR_H_
