// A RangeSource that hands out what a test lists.
#ifndef WEIR_TESTS_WORKER_LISTED_RANGES_H_
#define WEIR_TESTS_WORKER_LISTED_RANGES_H_

#include <deque>
#include <string>

#include "worker/range_source.h"

namespace weir::worker {

class ListedRanges final : public RangeSource {
 public:
  // Rows [first_row, first_row + rows) of a file whose content (unpacked) is `content`.
  void Add(const std::string& file, const std::string& content, uint64_t first_row, uint64_t rows) {
    NextRangeReply range;
    range.set_file(file);
    range.set_rows(rows);
    range.set_first_line(first_row + 1);
    size_t offset = 0;
    for (uint64_t i = 0; i < first_row; ++i) offset = content.find('\n', offset) + 1;
    range.set_byte_offset(offset);
    ranges_.push_back(range);
  }

  absl::StatusOr<NextRangeReply> Next() override {
    NextRangeReply range;
    range.set_done(ranges_.empty());
    if (!ranges_.empty()) {
      range = ranges_.front();
      ranges_.pop_front();
    }
    return range;
  }

 private:
  std::deque<NextRangeReply> ranges_;
};

}  // namespace weir::worker

#endif  // WEIR_TESTS_WORKER_LISTED_RANGES_H_
