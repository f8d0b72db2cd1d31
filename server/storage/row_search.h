// Finds the rows of many keys, in three stages of a group of keys each, so that the misses of the keys overlap: the head of the key's page
// is prefetched; then the tags that match name the keys and rows to prefetch; then keys are compared, and the row is used.
#ifndef WEIR_SERVER_STORAGE_ROW_SEARCH_H_
#define WEIR_SERVER_STORAGE_ROW_SEARCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/numeric/bits.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "server/storage/page_layout.h"
#include "server/storage/row_store.h"
#include "server/storage/tag_match.h"

namespace weir::server {

// A key to be found, and where.
struct WantedRow {
  uint32_t position;  // the caller's
  uint32_t shard;     // the caller's: whose store
  uint32_t hash;      // RowStore::StoreHash
};

enum class TouchedPart { kWeights, kAll };

namespace internal_row_search {

// Enough misses in flight to hide memory latency, few enough that what was fetched is still in the first cache when it is used.
inline constexpr size_t kGroupKeys = 16;

// A key on its way through the stages.
struct Search {
  const WantedRow* wanted;
  uint32_t number;  // of the page
  PageLayout::Page page;
  uint64_t candidates;  // rows of the page whose tags match
};

// Of no candidates: place 0, as good as any.
inline uint32_t FirstOf(uint64_t candidates) { return static_cast<uint32_t>(absl::countr_zero(candidates)) % 64; }

// What prefetches is inlined by force: gcc takes a function that does nothing else for one without effect, and leaves out its calls.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PrefetchFloats(const float* values, size_t floats) {
  constexpr size_t kBytesMax = 8 * PageLayout::kLineBytes;  // the hardware follows by itself then
  const auto* const begin = reinterpret_cast<const char*>(values);
  const size_t bytes = std::min(floats * sizeof(float), kBytesMax);
  if (bytes == 0) return;
  for (size_t offset = 0; offset < bytes; offset += PageLayout::kLineBytes) __builtin_prefetch(begin + offset);
  // A row that does not begin on a line ends on one more.
  if (reinterpret_cast<uintptr_t>(begin) % PageLayout::kLineBytes != 0) __builtin_prefetch(begin + bytes - 1);
}

}  // namespace internal_row_search

// visit(wanted, row) for each of `wanted` in any order; null weights: there is none. `key_of(wanted)` and `store_of(wanted)` say what to
// find and in whose store, all of which have `page_layout`. No row is inserted meanwhile.
template <TouchedPart touched, typename KeyOf, typename StoreOf, typename Visit>
void FindRows(const PageLayout& page_layout, absl::Span<const WantedRow> wanted, KeyOf key_of, StoreOf store_of, Visit visit) {
  using internal_row_search::FirstOf;
  using internal_row_search::kGroupKeys;
  using internal_row_search::PrefetchFloats;
  using internal_row_search::Search;
  const PageLayout layout = page_layout;
  Search groups[3][kGroupKeys];

  const auto begin = [&](Search* search, const WantedRow* key, const RowStore& store, uint32_t number) {
    search->wanted = key;
    search->number = number;
    search->page = layout.At(store.PageBytes(number), number);
    __builtin_prefetch(search->page.head);
  };
  const auto second_of = [](uint64_t matches) { return FirstOf((matches & (matches - 1)) != 0 ? matches & (matches - 1) : matches); };
  const auto advance = [&](Search* search) {
    const uint64_t matches = MatchTags(search->page.head, RowStore::Tag(search->wanted->hash));
    search->candidates = matches;
    // Two candidates are looked at without a branch: one key in six has a second one by chance.
    for (const uint32_t place : {FirstOf(matches), second_of(matches)}) {
      __builtin_prefetch(layout.KeyOf(search->page, place));
      const Row row = layout.RowOf(search->page, place);
      PrefetchFloats(row.weights, layout.row().weights);
      if (touched == TouchedPart::kAll) PrefetchFloats(row.slots, layout.row().slots);
    }
  };
  // False: it goes on at the next page.
  const auto finish = [&](const Search& search) {
    const Key key = key_of(*search.wanted);
    const uint64_t matches = search.candidates;
    uint32_t place = 0;
    bool found = false;
    // Without candidates nothing is read: the page may be the one of stores without rows, which is a head alone.
    if (matches != 0) {
      const uint32_t second = second_of(matches);
      place = *layout.KeyOf(search.page, second) == key ? second : FirstOf(matches);
      found = *layout.KeyOf(search.page, place) == key;
    }
    for (uint64_t left = matches & (matches - 1); !found && left != 0; left &= left - 1) {
      place = FirstOf(left);
      found = *layout.KeyOf(search.page, place) == key;
    }
    if (!found && *search.page.head == layout.rows()) return false;
    visit(*search.wanted, found ? layout.RowOf(search.page, place) : Row());
    return true;
  };

  // All at home; then, a few at a time, those that were not there.
  std::vector<Search> again;
  const auto pass = [&](size_t size, auto begin_at) {
    const auto for_group = [size, &groups](size_t number, auto work) {
      const size_t first = number * kGroupKeys;
      for (size_t i = first; i < std::min(first + kGroupKeys, size); ++i) work(i, &groups[number % 3][i - first]);
    };
    const size_t group_count = (size + kGroupKeys - 1) / kGroupKeys;
    for (size_t number = 0; number < group_count + 2; ++number) {
      for_group(number, begin_at);
      if (number >= 1) for_group(number - 1, [&](size_t, Search* search) { advance(search); });
      if (number < 2) continue;
      for_group(number - 2, [&](size_t, const Search* search) {
        if (!finish(*search)) again.push_back(*search);
      });
    }
  };
  pass(wanted.size(), [&](size_t i, Search* search) {
    const RowStore& store = *store_of(wanted[i]);
    begin(search, &wanted[i], store, store.HomePage(wanted[i].hash));
  });
  while (!again.empty()) {
    const std::vector<Search> others = std::move(again);
    again.clear();
    pass(others.size(), [&](size_t i, Search* search) {
      const RowStore& store = *store_of(*others[i].wanted);
      begin(search, others[i].wanted, store, store.NextPage(others[i].number));
    });
  }
}

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_ROW_SEARCH_H_
