// When a call that found its server unavailable is tried again. Pure.
#ifndef WEIR_CLIENT_RETRY_POLICY_H_
#define WEIR_CLIENT_RETRY_POLICY_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace weir::client {

inline constexpr uint32_t kCallTriesMax = 16;
inline constexpr absl::Duration kFirstRetryDelay = absl::Milliseconds(20);
inline constexpr absl::Duration kRetryDelayMax = absl::Seconds(2);

// Wait after try number `tries` (from 1): doubles up to a limit, then between a half and the whole of that, so that clients which failed
// together do not come back together. uniform: in [0, 1).
inline absl::Duration RetryDelay(uint32_t tries, double uniform) {
  const absl::Duration full = std::min(kFirstRetryDelay * (int64_t{1} << std::min(tries - 1, 20u)), kRetryDelayMax);
  return full * (0.5 + 0.5 * uniform);
}

}  // namespace weir::client

#endif  // WEIR_CLIENT_RETRY_POLICY_H_
