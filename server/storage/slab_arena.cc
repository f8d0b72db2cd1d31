#include "server/storage/slab_arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

// The kernel aligns to its own pages only, so twice the size is asked for and what lies outside the aligned part is given back.
char* MapSlab() {
  constexpr size_t kSlab = SlabArena::kSlabBytes;
  void* const mapped = mmap(nullptr, 2 * kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    spdlog::critical("no memory for another {} bytes of rows: {}", kSlab, std::strerror(errno));
    std::abort();
  }
  char* const start = static_cast<char*>(mapped);
  const size_t skip = (kSlab - reinterpret_cast<uintptr_t>(start) % kSlab) % kSlab;
  if (skip > 0) munmap(start, skip);
  munmap(start + skip + kSlab, kSlab - skip);
  // Advice only: without it the rows work as well, slower.
  madvise(start + skip, kSlab, MADV_HUGEPAGE);
  return start + skip;
}

}  // namespace

SlabArena::~SlabArena() {
  for (char* slab : slabs_) munmap(slab, kSlabBytes);
}

char* SlabArena::Allocate(size_t bytes) {
  const size_t rounded = (bytes + 7) / 8 * 8;
  MutexLock lock(&mu_);
  if (used_ + rounded > kSlabBytes) {
    slabs_.push_back(MapSlab());
    used_ = 0;
  }
  char* const block = slabs_.back() + used_;
  used_ += rounded;
  return block;
}

size_t SlabArena::slab_bytes() const {
  MutexLock lock(&mu_);
  return slabs_.size() * kSlabBytes;
}

}  // namespace weir::server
