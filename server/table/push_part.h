// A push as the training steps see it: decoded, validated, and named so that it is applied once.
#ifndef WEIR_SERVER_TABLE_PUSH_PART_H_
#define WEIR_SERVER_TABLE_PUSH_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/table/gradient_rows.h"

namespace weir::server {

// Names a lookup and its push: one part of one step of one life of one worker.
struct PartId {
  uint32_t worker_rank = 0;
  uint64_t incarnation = 0;
  int64_t step = 0;
  uint32_t part = 0;
};

// "part 0 of step 7 of worker 1".
std::string ToString(const PartId& id);

// REQUIRES of `tables`: rows that DropUnusableRows and Table::CheckOwned have passed.
struct PushPart {
  PartId id;
  uint32_t parts = 1;    // of this worker in this step
  uint32_t samples = 0;  // of this worker in this step, the same in every part
  std::vector<GradientRows> tables;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_TABLE_PUSH_PART_H_
