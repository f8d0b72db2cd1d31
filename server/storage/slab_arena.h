// Memory of rows: blocks that never move, cut from slabs of huge pages. A first touch of 4 KiB pages would cost about 100 times as much as
// that of 2 MiB pages, and a random row would cost a page walk more.
#ifndef WEIR_SERVER_STORAGE_SLAB_ARENA_H_
#define WEIR_SERVER_STORAGE_SLAB_ARENA_H_

#include <cstddef>
#include <vector>

#include "base/mutex.h"

namespace weir::server {

// Thread-safe. Blocks live as long as the arena.
class SlabArena {
 public:
  static constexpr size_t kSlabBytes = size_t{2} << 20;

  SlabArena() = default;
  ~SlabArena();
  SlabArena(const SlabArena&) = delete;
  SlabArena& operator=(const SlabArena&) = delete;

  // Zeroed memory, aligned to 8. REQUIRES: bytes <= kSlabBytes. Ends the process when the machine has no memory left.
  char* Allocate(size_t bytes);

  // Taken from the machine.
  size_t slab_bytes() const;

 private:
  mutable Mutex mu_;
  std::vector<char*> slabs_ ABSL_GUARDED_BY(mu_);
  size_t used_ ABSL_GUARDED_BY(mu_) = kSlabBytes;  // of the last slab
};

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_SLAB_ARENA_H_
