// Memory of rows and their index: blocks cut from huge pages. With 4 KiB pages a random row would cost two page walks more, and a first
// touch about 100 times as much (measured: tests/bench/table_bench.cc halves its speed).
#ifndef WEIR_SERVER_STORAGE_SLAB_ARENA_H_
#define WEIR_SERVER_STORAGE_SLAB_ARENA_H_

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace weir::server {

// Thread-safe. Blocks stay where they are until they are released, or the arena goes. Slabs go back to the machine with the arena only.
class SlabArena {
 public:
  static constexpr size_t kSlabBytes = size_t{2} << 20;

  SlabArena() = default;
  ~SlabArena();
  SlabArena(const SlabArena&) = delete;
  SlabArena& operator=(const SlabArena&) = delete;

  // Memory of any content, aligned to a cache line (64 bytes). Ends the process when the machine has none left.
  char* Allocate(size_t bytes);
  // For use by later blocks. REQUIRES: from Allocate of the same size.
  void Release(char* block, size_t bytes);

  // Taken from the machine, and of it not allocated now.
  size_t slab_bytes() const;
  size_t spare_bytes() const;

 private:
  struct Slab {
    char* begin = nullptr;
    size_t bytes = 0;
  };

  // Joined with its neighbours.
  void AddSpare(char* block, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeSpare(char* block, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  std::vector<Slab> slabs_ ABSL_GUARDED_BY(mu_);
  // The same pieces, by address and by size: a block is cut from the smallest that holds it.
  std::map<char*, size_t> spare_ ABSL_GUARDED_BY(mu_);
  std::set<std::pair<size_t, char*>> spare_by_size_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_SLAB_ARENA_H_
