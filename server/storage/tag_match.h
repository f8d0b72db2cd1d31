// Which of the 63 tags of a page's first line equal a byte: the first step of finding a key, so it is inlined and takes a few
// instructions. (Highway 1.0 turns masks into bits only by way of memory.)
#ifndef WEIR_SERVER_STORAGE_TAG_MATCH_H_
#define WEIR_SERVER_STORAGE_TAG_MATCH_H_

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <cstdint>

namespace weir::server {

inline constexpr uint32_t kTagsPerLine = 63;

// Bit i: tags[i] == tag, where line = {any byte, tags...}, 64 bytes.
inline uint64_t MatchTagsScalar(const uint8_t* line, uint8_t tag) {
  uint64_t matches = 0;
  for (uint32_t i = 0; i < kTagsPerLine; ++i) matches |= static_cast<uint64_t>(line[1 + i] == tag) << i;
  return matches;
}

// The same. REQUIRES: `line` aligned to 64 bytes.
inline uint64_t MatchTags(const uint8_t* line, uint8_t tag) {
#ifdef __AVX2__
  const __m256i wanted = _mm256_set1_epi8(static_cast<char>(tag));
  const auto half = [&](int i) {
    const __m256i tags = _mm256_load_si256(reinterpret_cast<const __m256i*>(line) + i);
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(tags, wanted)));
  };
  return (half(0) | uint64_t{half(1)} << 32) >> 1;
#else
  return MatchTagsScalar(line, tag);
#endif
}

}  // namespace weir::server

#endif  // WEIR_SERVER_STORAGE_TAG_MATCH_H_
