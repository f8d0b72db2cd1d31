// DLRM training in the plainest form: one process, one sample at a time, double precision, no batches, no sharding, no codecs. What the
// real system must equal.
#ifndef WEIR_TESTS_TESTING_REFERENCE_JOB_H_
#define WEIR_TESTS_TESTING_REFERENCE_JOB_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/key.h"
#include "worker/batch.h"

namespace weir::testing {

struct ReferenceShape {
  std::vector<uint32_t> bottom;  // input width, then output widths
  std::vector<uint32_t> top;     // output widths; the input follows from the interaction
  uint32_t features = 0;
  uint32_t dim = 0;
};

class ReferenceJob {
 public:
  // parameters: flat, layer after layer, weights [out][in] then bias.
  ReferenceJob(ReferenceShape shape, std::vector<double> parameters);

  // Value of a row before its first update, to be set for every key of the data.
  void SetRow(uint32_t table, Key key, std::vector<double> row) { rows_[{table, key}] = std::move(row); }
  const std::vector<double>& row(uint32_t table, Key key) const { return rows_.at({table, key}); }
  const std::vector<double>& parameters() const { return parameters_; }

  // One SGD step over all samples of all batches: x -= learning_rate * (mean over samples of d log-loss / dx). Returns the mean log-loss
  // before it.
  double Step(const std::vector<const worker::Batch*>& batches, double learning_rate);

 private:
  struct Layer {
    uint32_t in = 0, out = 0, offset = 0;
    bool relu = true;
  };
  std::vector<double> Apply(const Layer& layer, const std::vector<double>& x) const;
  std::vector<double> Backward(const Layer& layer, const std::vector<double>& x, const std::vector<double>& y, std::vector<double> dy,
                               std::vector<double>* gradient) const;

  const ReferenceShape shape_;
  std::vector<Layer> bottom_, top_;
  std::vector<double> parameters_;
  std::map<std::pair<uint32_t, Key>, std::vector<double>> rows_;
};

}  // namespace weir::testing

#endif  // WEIR_TESTS_TESTING_REFERENCE_JOB_H_
