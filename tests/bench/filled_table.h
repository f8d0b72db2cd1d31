// A table with many rows, to measure.
#ifndef WEIR_TESTS_BENCH_FILLED_TABLE_H_
#define WEIR_TESTS_BENCH_FILLED_TABLE_H_

#include <cstdint>
#include <memory>

#include "base/key.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"

namespace weir::server {

inline constexpr uint32_t kFilledDim = 16;

// Keys as they come: 64-bit hashes.
inline Key FilledKey(uint64_t row) { return Mix64(row); }

// The keys of rows [0, rows), under rowwise Adagrad, each updated once. `arena` outlives it.
std::unique_ptr<Table> FilledTable(uint64_t rows, SlabArena* arena);

// Processor time of this thread: what others run beside it does not count.
double ThreadSeconds();

}  // namespace weir::server

#endif  // WEIR_TESTS_BENCH_FILLED_TABLE_H_
