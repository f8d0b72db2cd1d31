// The scalar truth beside the embedding bags: rows in a map, one loop for each thing.
#ifndef WEIR_TESTS_CLIENT_SCALAR_BAGS_H_
#define WEIR_TESTS_CLIENT_SCALAR_BAGS_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/key.h"
#include "client/embedding_bags.h"
#include "client/key_router.h"
#include "tests/client/fake_data_service.h"

namespace weir::client {

// Features with one key a sample, with bags of 0 to 3 keys, and two that share a table: C1, C2, C2 and none of C3.
std::vector<FeatureKeys> DrawFeatures(uint32_t samples, std::mt19937_64* random);
// Multiples of 1/64: sums are exact in any order.
std::vector<float> DrawGradient(size_t size, std::mt19937_64* random);

class ScalarBags {
 public:
  using InitialRow = std::function<std::vector<float>(uint32_t table, Key key)>;

  // Starts from the rows of the fakes.
  ScalarBags(uint32_t dim, ShardMap map);
  ScalarBags(uint32_t dim, ShardMap map, InitialRow initial) : dim_(dim), map_(map), initial_(std::move(initial)) {}

  // Pooled vectors; with a sparsity of at least 0 thresholded for each sample on each server.
  std::vector<float> Pool(uint32_t samples, const std::vector<FeatureKeys>& features, double sparsity);
  // Adds the gradients of one worker's step, under the mask of Pool; the rows stay until Update.
  void AddGradients(uint32_t samples, const std::vector<FeatureKeys>& features, const std::vector<float>& gradient, double sparsity);
  // Gradient descent by what was added.
  void Update(float rate);
  // The first row that differs by more than the tolerance; "" when none does.
  std::string Differences(const RowMap& served, float tolerance = 0) const;
  const RowMap& rows() const { return rows_; }  // that were ever updated

 private:
  // What one server holds of a bag of a sample: its sum and whether each column passes.
  struct Part {
    uint32_t feature = 0;
    std::vector<Key> keys;
    std::vector<float> sum;
    std::vector<bool> kept;
  };

  std::vector<Part> PartsOf(uint32_t sample, uint32_t server, const std::vector<FeatureKeys>& features, double sparsity) const;
  std::vector<float> Row(uint32_t table, Key key) const;

  const uint32_t dim_;
  const ShardMap map_;
  const InitialRow initial_;
  RowMap rows_;
  RowMap sums_;  // gradients since Update
};

}  // namespace weir::client

#endif  // WEIR_TESTS_CLIENT_SCALAR_BAGS_H_
