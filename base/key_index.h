// Numbers for the distinct keys of a batch, in the order in which they are first seen: an open-addressing table that is filled once, and
// whose memory is reused.
#ifndef WEIR_BASE_KEY_INDEX_H_
#define WEIR_BASE_KEY_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/key.h"

namespace weir {

// Single-threaded.
class KeyIndex {
 public:
  // Forgets all keys. REQUIRES: at most keys_max, below 2^31, are numbered until the next Start.
  void Start(size_t keys_max) {
    size_t buckets = 16;
    while (buckets < 2 * keys_max) buckets *= 2;
    mask_ = buckets - 1;
    buckets_.assign(buckets, 0);
    keys_.clear();
    keys_.reserve(keys_max);
  }

  // The number of a key; a new key gets the next one, which was keys().size(). `hash`: of the key, of which the upper half is used.
  uint32_t Number(Key key, uint64_t hash) {
    size_t bucket = (hash >> 32) & mask_;
    while (buckets_[bucket] != 0 && keys_[buckets_[bucket] - 1] != key) bucket = (bucket + 1) & mask_;
    if (buckets_[bucket] == 0) {
      keys_.push_back(key);
      buckets_[bucket] = static_cast<uint32_t>(keys_.size());
    }
    return buckets_[bucket] - 1;
  }

  // By number.
  const std::vector<Key>& keys() const { return keys_; }

 private:
  size_t mask_ = 0;
  std::vector<uint32_t> buckets_;  // number + 1; 0: free
  std::vector<Key> keys_;
};

}  // namespace weir

#endif  // WEIR_BASE_KEY_INDEX_H_
