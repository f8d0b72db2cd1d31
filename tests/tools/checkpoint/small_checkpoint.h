// Checkpoints to look into, without a job.
#ifndef WEIR_TESTS_TOOLS_CHECKPOINT_SMALL_CHECKPOINT_H_
#define WEIR_TESTS_TOOLS_CHECKPOINT_SMALL_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/key.h"

namespace weir::testing {

// One table C1 of 2 weights and 1 slot with these keys, whose values are key, key + 0.5 and `slot`; one layer top.0 of 1 output and 2
// inputs with parameters 1, 2 and `bias`; C1's residual of key 7: 3, 4.
struct SmallCheckpoint {
  int64_t step = 10;
  std::vector<Key> keys;
  float slot = 9;
  float bias = 3;
};

// Saves it under `dir`; its folder.
std::string Save(const std::string& dir, const SmallCheckpoint& checkpoint);

}  // namespace weir::testing

#endif  // WEIR_TESTS_TOOLS_CHECKPOINT_SMALL_CHECKPOINT_H_
