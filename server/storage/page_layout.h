// Where things are in a page of rows (row_store.h). Values, so that a loop over keys can keep them in registers.
#ifndef WEIR_SERVER_STORAGE_PAGE_LAYOUT_H_
#define WEIR_SERVER_STORAGE_PAGE_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/key.h"

namespace weir::server {

// What a row is made of, in floats.
struct RowLayout {
  uint32_t weights = 0;
  uint32_t slots = 0;

  size_t payload_bytes() const { return (size_t{weights} + slots) * sizeof(float); }
};

// A row in place; null weights: there is none.
struct Row {
  float* weights = nullptr;
  float* slots = nullptr;
};

// A page: a head of one line, the weights of all its rows, their keys, and their slots. As many rows as fit 4 KiB, at least 15 and at most
// 63. Weights begin on a cache line when 16 divides their number. The head is before, after or among the weights, different from page to
// page: lines at the same place of their pages would share a few sets of the caches.
class PageLayout {
 public:
  explicit PageLayout(RowLayout row);

  const RowLayout& row() const { return row_; }
  uint32_t rows() const { return rows_; }
  size_t bytes() const { return bytes_; }

  struct Page {
    uint8_t* bytes = nullptr;
    uint8_t* head = nullptr;  // {rows that it has, a tag for each}
  };
  // `number` of the page in its store.
  Page At(uint8_t* bytes, uint32_t number) const { return {bytes, bytes + head_offsets_[number % kHeadPlaces]}; }
  Row RowOf(const Page& page, uint32_t place) const {
    uint8_t* const weights = page.bytes + size_t{place} * weights_bytes_;
    // Without a branch, which nobody could predict.
    const size_t head = size_t{weights >= page.head} * kLineBytes;
    return {reinterpret_cast<float*>(weights + head), reinterpret_cast<float*>(page.bytes + slots_offset_ + size_t{place} * slots_bytes_)};
  }
  Key* KeyOf(const Page& page, uint32_t place) const { return reinterpret_cast<Key*>(page.bytes + keys_offset_) + place; }

  static constexpr size_t kLineBytes = 64;

 private:
  RowLayout row_;
  uint32_t rows_;
  uint32_t weights_bytes_;
  uint32_t slots_bytes_;
  uint32_t keys_offset_;
  uint32_t slots_offset_;
  size_t bytes_;
  // By page: after rows whose weights are a whole number of lines.
  static constexpr uint32_t kHeadPlaces = 32;
  std::array<uint32_t, kHeadPlaces> head_offsets_;
};

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_PAGE_LAYOUT_H_
