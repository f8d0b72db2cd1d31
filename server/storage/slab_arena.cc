#include "server/storage/slab_arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// The kernel aligns to its own pages only, so one slab more is asked for, and what lies outside the aligned part is given back.
char* MapSlab(size_t bytes) {
  constexpr size_t kSlab = SlabArena::kSlabBytes;
  void* const mapped = mmap(nullptr, bytes + kSlab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    spdlog::critical("no memory for another {} bytes of rows: {}", bytes, std::strerror(errno));
    std::abort();
  }
  char* const start = static_cast<char*>(mapped);
  const size_t skip = RoundUp(reinterpret_cast<uintptr_t>(start), kSlab) - reinterpret_cast<uintptr_t>(start);
  if (skip > 0) munmap(start, skip);
  if (skip < kSlab) munmap(start + skip + bytes, kSlab - skip);
  // Advice only: without it the rows work as well, slower.
  madvise(start + skip, bytes, MADV_HUGEPAGE);
  return start + skip;
}

}  // namespace

SlabArena::~SlabArena() {
  for (const Slab& slab : slabs_) munmap(slab.begin, slab.bytes);
}

char* SlabArena::Allocate(size_t bytes) {
  const size_t rounded = RoundUp(bytes, kBlockUnit);
  MutexLock lock(&mu_);
  auto fit = spare_.lower_bound(rounded);
  if (fit == spare_.end()) {
    const Slab slab{MapSlab(RoundUp(rounded, kSlabBytes)), RoundUp(rounded, kSlabBytes)};
    slabs_.push_back(slab);
    fit = spare_.emplace(slab.bytes, slab.begin);
  }
  const auto [piece_bytes, piece] = *fit;
  spare_.erase(fit);
  if (piece_bytes > rounded) spare_.emplace(piece_bytes - rounded, piece + rounded);
  return piece;
}

void SlabArena::Free(char* block, size_t bytes) {
  const size_t rounded = RoundUp(bytes, kBlockUnit);
  if (rounded >= kSlabBytes) madvise(block, rounded, MADV_DONTNEED);
  MutexLock lock(&mu_);
  spare_.emplace(rounded, block);
}

size_t SlabArena::slab_bytes() const {
  MutexLock lock(&mu_);
  size_t bytes = 0;
  for (const Slab& slab : slabs_) bytes += slab.bytes;
  return bytes;
}

size_t SlabArena::spare_bytes() const {
  MutexLock lock(&mu_);
  size_t bytes = 0;
  for (const auto& [size, block] : spare_) bytes += size;
  return bytes;
}

}  // namespace weir::server
