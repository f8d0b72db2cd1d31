#include "server/storage/row_store.h"

#include <cmath>
#include <cstring>

#include "server/storage/tag_match.h"

namespace weir::server {
namespace {

int FirstChunkBits(size_t page_bytes) {
  int bits = 0;
  while ((page_bytes << (bits + 1)) <= SlabArena::kBlockUnit) ++bits;
  return bits;
}

// Rows a page has on average when the store grows. The number at home varies by its root, and what has no room at home costs a page walk.
uint32_t FillOf(uint32_t page_rows) { return page_rows - static_cast<uint32_t>(std::sqrt(page_rows)) / 2; }

}  // namespace

RowStore::RowStore(uint32_t table, const PageLayout* layout, SlabArena* arena)
    : first_chunk_bits_(FirstChunkBits(layout->bytes())), page_bytes_(layout->bytes()), layout_(layout), arena_(arena), table_(table) {
  alignas(PageLayout::kLineBytes) static uint8_t no_rows[PageLayout::kLineBytes] = {};
  chunks_.push_back(no_rows);  // page 0 begins with its head
}

RowStore::~RowStore() {
  if (rows_max_ == 0) return;
  uint32_t number = 0;
  for (uint8_t* chunk : chunks_) {
    const int chunk_bits = PlaceOf(number).chunk_bits;
    arena_->Free(reinterpret_cast<char*>(chunk), page_bytes_ << chunk_bits);
    number += 1u << chunk_bits;
  }
}

Row RowStore::Find(Key key, uint32_t hash) const {
  for (uint32_t number = HomePage(hash);; number = NextPage(number)) {
    const PageLayout::Page page = PageAt(number);
    for (uint64_t left = MatchTags(page.head, Tag(hash)); left != 0; left &= left - 1) {
      const auto place = static_cast<uint32_t>(absl::countr_zero(left));
      if (*layout_->KeyOf(page, place) == key) return layout_->RowOf(page, place);
    }
    if (*page.head < layout_->rows()) return Row();
  }
}

Row RowStore::Insert(Key key, uint32_t hash) {
  if (rows_ == rows_max_) Grow();
  ++rows_;
  return Place(key, hash);
}

Row RowStore::Append(Key key, uint32_t hash, const PageLayout::Page& page) {
  const uint32_t place = (*page.head)++;
  page.head[1 + place] = Tag(hash);
  *layout_->KeyOf(page, place) = key;
  return layout_->RowOf(page, place);
}

Row RowStore::Place(Key key, uint32_t hash) {
  uint32_t number = HomePage(hash);
  while (*PageAt(number).head == layout_->rows()) number = NextPage(number);
  return Append(key, hash, PageAt(number));
}

void RowStore::Grow() {
  if (rows_max_ == 0) {
    chunks_.clear();
    page_count_ = 0;
  }
  const uint32_t old_count = page_count_;
  const int chunk_bits = PlaceOf(old_count).chunk_bits;
  const size_t bytes = page_bytes_ << chunk_bits;
  chunks_.push_back(reinterpret_cast<uint8_t*>(arena_->Allocate(bytes)));
  chunk_bytes_ += bytes;
  page_count_ += 1u << chunk_bits;
  for (uint32_t number = old_count; number < page_count_; ++number) std::memset(PageAt(number).head, 0, PageLayout::kLineBytes);
  rows_max_ = uint64_t{page_count_} * FillOf(layout_->rows());
  MoveRows(old_count);
}

// From the last page to the first: rows go to pages that were emptied before, or are new. The few whose way leads to pages that still
// have old rows wait for the end.
void RowStore::MoveRows(uint32_t old_count) {
  const RowLayout& row_layout = layout_->row();
  const auto copy_row = [&row_layout](const Row& from, const Row& to) {
    std::memcpy(to.weights, from.weights, row_layout.weights * sizeof(float));
    std::memcpy(to.slots, from.slots, row_layout.slots * sizeof(float));
  };
  std::vector<Key> copied(page_bytes_ / sizeof(Key));
  std::vector<Key> waiting;
  std::vector<float> waiting_rows;
  for (uint32_t number = old_count; number-- > 0;) {
    const PageLayout::Page emptied = PageAt(number);
    std::memcpy(copied.data(), emptied.bytes, page_bytes_);
    std::memset(emptied.head, 0, PageLayout::kLineBytes);
    const PageLayout::Page old = layout_->At(reinterpret_cast<uint8_t*>(copied.data()), number);
    for (uint32_t place = 0; place < *old.head; ++place) {
      const Row row = layout_->RowOf(old, place);
      const Key key = *layout_->KeyOf(old, place);
      const uint32_t hash = StoreHash(Mix64(table_, key));
      uint32_t target = HomePage(hash);
      while (target >= number && target < page_count_ && *PageAt(target).head == layout_->rows()) ++target;
      if (target >= number && target < page_count_) {
        copy_row(row, Append(key, hash, PageAt(target)));
        continue;
      }
      waiting.push_back(key);
      waiting_rows.insert(waiting_rows.end(), row.weights, row.weights + row_layout.weights);
      waiting_rows.insert(waiting_rows.end(), row.slots, row.slots + row_layout.slots);
    }
  }
  const size_t row_floats = size_t{row_layout.weights} + row_layout.slots;
  for (size_t i = 0; i < waiting.size(); ++i) {
    float* const row = waiting_rows.data() + i * row_floats;
    copy_row({row, row + row_layout.weights}, Place(waiting[i], StoreHash(Mix64(table_, waiting[i]))));
  }
}

}  // namespace weir::server
