#include "server/storage/slab_arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

constexpr size_t kLineBytes = 64;

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

void SlabArena::AddSpare(char* block, size_t bytes) {
  const auto next = spare_.lower_bound(block);
  if (next != spare_.end() && block + bytes == next->first) {
    bytes += next->second;
    TakeSpare(next->first, next->second);
  }
  const auto after = spare_.lower_bound(block);
  if (after != spare_.begin()) {
    const auto [before, before_bytes] = *std::prev(after);
    if (before + before_bytes == block) {
      TakeSpare(before, before_bytes);
      block = before;
      bytes += before_bytes;
    }
  }
  spare_.emplace(block, bytes);
  spare_by_size_.emplace(bytes, block);
}

void SlabArena::TakeSpare(char* block, size_t bytes) {
  spare_.erase(block);
  spare_by_size_.erase({bytes, block});
}

char* SlabArena::Allocate(size_t bytes) {
  const size_t rounded = RoundUp(bytes, kLineBytes);
  MutexLock lock(&mu_);
  auto fit = spare_by_size_.lower_bound({rounded, nullptr});
  if (fit == spare_by_size_.end()) {
    const Slab slab{MapSlab(RoundUp(rounded, kSlabBytes)), RoundUp(rounded, kSlabBytes)};
    slabs_.push_back(slab);
    AddSpare(slab.begin, slab.bytes);
    fit = spare_by_size_.lower_bound({rounded, nullptr});
  }
  const auto [piece_bytes, piece] = *fit;
  TakeSpare(piece, piece_bytes);
  if (piece_bytes > rounded) AddSpare(piece + rounded, piece_bytes - rounded);
  return piece;
}

void SlabArena::Release(char* block, size_t bytes) {
  MutexLock lock(&mu_);
  AddSpare(block, RoundUp(bytes, kLineBytes));
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
  for (const auto& [block, size] : spare_) bytes += size;
  return bytes;
}

}  // namespace weir::server
