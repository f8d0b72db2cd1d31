// Memory of rows: blocks cut from huge pages. With 4 KiB pages a random row would cost a longer page walk, and a first touch about 100
// times as much.
#ifndef WEIR_SERVER_STORAGE_SLAB_ARENA_H_
#define WEIR_SERVER_STORAGE_SLAB_ARENA_H_

#include <cstddef>
#include <map>
#include <vector>

#include "base/mutex.h"

namespace weir::server {

// Thread-safe. Blocks stay where they are.
class SlabArena {
 public:
  static constexpr size_t kSlabBytes = size_t{2} << 20;
  static constexpr size_t kBlockUnit = size_t{4} << 10;

  SlabArena() = default;
  ~SlabArena();
  SlabArena(const SlabArena&) = delete;
  SlabArena& operator=(const SlabArena&) = delete;

  // Memory of any content, aligned to kBlockUnit, of which whole ones are taken. Ends the process when the machine has none left.
  char* Allocate(size_t bytes);
  // Gives back what Allocate(bytes) has returned, for later blocks; the machine gets the memory of large ones.
  void Free(char* block, size_t bytes);

  // Taken from the machine, and of it not allocated yet.
  size_t slab_bytes() const;
  size_t spare_bytes() const;

 private:
  struct Slab {
    char* begin = nullptr;
    size_t bytes = 0;
  };

  mutable Mutex mu_;
  std::vector<Slab> slabs_ ABSL_GUARDED_BY(mu_);
  // What is left of slabs, by size: a block is cut from the smallest that holds it.
  std::multimap<size_t, char*> spare_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_SLAB_ARENA_H_
