// Plain memory in huge pages, touched: what rows are measured against.
#ifndef WEIR_TESTS_BENCH_HUGE_ARRAY_H_
#define WEIR_TESTS_BENCH_HUGE_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace weir {

class HugeArray {
 public:
  explicit HugeArray(size_t bytes) {
    constexpr size_t kHuge = size_t{2} << 20;
    const size_t rounded = (bytes + kHuge - 1) / kHuge * kHuge;
    data_ = static_cast<char*>(std::aligned_alloc(kHuge, rounded));
    madvise(data_, rounded, MADV_HUGEPAGE);
    std::memset(data_, 0, rounded);
  }
  ~HugeArray() { std::free(data_); }
  HugeArray(const HugeArray&) = delete;
  HugeArray& operator=(const HugeArray&) = delete;

  char* data() const { return data_; }

 private:
  char* data_;
};

}  // namespace weir

#endif  // WEIR_TESTS_BENCH_HUGE_ARRAY_H_
