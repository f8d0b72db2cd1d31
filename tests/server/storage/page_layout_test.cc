#include "server/storage/page_layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "server/storage/tag_match.h"

namespace weir::server {
namespace {

// Every byte of a page belongs to one thing, wherever the head is.
TEST(PageLayoutTest, NothingOverlaps) {
  for (const RowLayout row : {RowLayout{1, 0}, RowLayout{3, 2}, RowLayout{10, 1}, RowLayout{16, 1}, RowLayout{16, 32}, RowLayout{24, 0},
                              RowLayout{128, 1}, RowLayout{1000, 2001}}) {
    const PageLayout layout(row);
    EXPECT_GE(layout.rows(), 15u);
    EXPECT_LE(layout.rows(), kTagsPerLine);
    std::vector<uint64_t> memory(layout.bytes() / 8 + 16);
    auto* const bytes = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    for (uint32_t number = 0; number < 40; ++number) {
      const PageLayout::Page page = layout.At(bytes, number);
      std::vector<int> taken(layout.bytes());
      const auto take = [&](const void* from, size_t size) {
        const size_t offset = static_cast<const uint8_t*>(from) - bytes;
        ASSERT_LE(offset + size, taken.size());
        for (size_t i = 0; i < size; ++i) ++taken[offset + i];
      };
      EXPECT_EQ(reinterpret_cast<uintptr_t>(page.head) % 64, 0u);
      take(page.head, PageLayout::kLineBytes);
      for (uint32_t place = 0; place < layout.rows(); ++place) {
        const Row at = layout.RowOf(page, place);
        take(at.weights, row.weights * sizeof(float));
        take(at.slots, row.slots * sizeof(float));
        take(layout.KeyOf(page, place), sizeof(Key));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(layout.KeyOf(page, place)) % alignof(Key), 0u);
        if (row.weights % 16 == 0) {
          EXPECT_EQ(reinterpret_cast<uintptr_t>(at.weights) % 64, 0u);
        }
      }
      for (const int count : taken) ASSERT_LE(count, 1);
    }
  }
}

TEST(PageLayoutTest, HeadsAreSpreadOverThePage) {
  const PageLayout layout(RowLayout{16, 1});
  EXPECT_EQ(layout.bytes(), 4096u);
  EXPECT_EQ(layout.rows(), 53u);
  std::set<size_t> offsets;
  for (uint32_t number = 0; number < 32; ++number) {
    uint8_t* const bytes = nullptr;
    offsets.insert(layout.At(bytes, number).head - bytes);
  }
  EXPECT_EQ(offsets.size(), 32u);
  EXPECT_EQ(*offsets.begin(), 0u);
}

}  // namespace
}  // namespace weir::server
