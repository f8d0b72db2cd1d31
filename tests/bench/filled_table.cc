#include "tests/bench/filled_table.h"

#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "proto/job_tables.h"

namespace weir::server {

std::unique_ptr<Table> FilledTable(uint64_t rows, SlabArena* arena) {
  constexpr uint32_t kShards = 256;
  constexpr uint64_t kBatch = 10000;
  TableSpec spec;
  spec.name = "bench";
  spec.dim = kFilledDim;
  spec.optimizer.set_type(Optimizer::TYPE_ROWWISE_ADAGRAD);
  spec.optimizer.set_learning_rate(0.01);
  spec.optimizer.set_epsilon(1e-8);
  spec.optimizer.set_initial_accumulator(0);
  spec.initializer.set_type(Initializer::TYPE_UNIFORM);
  spec.initializer.set_scale(0.05);
  std::unique_ptr<Table> table = *Table::Create(0, std::move(spec), 1, ShardPlace{0, MakeShardMap(kShards, 1)}, arena);
  const std::vector<float> gradients(kBatch * kFilledDim, 1e-3f);
  for (uint64_t row = 0; row < rows; row += kBatch) {
    std::vector<Key> keys(std::min(kBatch, rows - row));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = FilledKey(row + i);
    table->Apply(keys, absl::MakeConstSpan(gradients).first(keys.size() * kFilledDim), {1});
  }
  return table;
}

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace weir::server
