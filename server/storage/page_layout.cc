#include "server/storage/page_layout.h"

#include <algorithm>
#include <numeric>

#include "server/storage/tag_match.h"

namespace weir::server {
namespace {

// Of memory: what one page walk reaches.
constexpr size_t kMemoryPageBytes = 4096;
constexpr uint32_t kRowsMin = 15;

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

uint32_t RowsOf(RowLayout row) {
  // Half a key: what its alignment may cost.
  const size_t fit = (kMemoryPageBytes - PageLayout::kLineBytes - sizeof(Key) / 2) / (sizeof(Key) + row.payload_bytes());
  return static_cast<uint32_t>(std::clamp<size_t>(fit, kRowsMin, kTagsPerLine));
}

// A page that nearly fills its memory page does not share it with another.
size_t BytesOf(size_t used) {
  const size_t lines = RoundUp(used, PageLayout::kLineBytes);
  return lines > kMemoryPageBytes * 15 / 16 && lines < kMemoryPageBytes ? kMemoryPageBytes : lines;
}

}  // namespace

PageLayout::PageLayout(RowLayout row)
    : row_(row),
      rows_(RowsOf(row)),
      weights_bytes_(row.weights * sizeof(float)),
      slots_bytes_(row.slots * sizeof(float)),
      keys_offset_(static_cast<uint32_t>(RoundUp(kLineBytes + size_t{rows_} * weights_bytes_, sizeof(Key)))),
      slots_offset_(keys_offset_ + rows_ * sizeof(Key)),
      bytes_(BytesOf(slots_offset_ + size_t{rows_} * slots_bytes_)) {
  const uint32_t step = std::lcm<uint32_t>(weights_bytes_, kLineBytes);
  const uint32_t places = rows_ * weights_bytes_ / step + 1;
  // Spread: each page's head is far from those of the pages beside it.
  for (uint32_t i = 0; i < kHeadPlaces; ++i) head_offsets_[i] = i * 7 % kHeadPlaces * places / kHeadPlaces * step;
}

}  // namespace weir::server
