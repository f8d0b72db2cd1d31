// Every bound of the system, in one place. What comes from the wire or a file is checked against these before memory is taken.
#ifndef WEIR_BASE_LIMITS_H_
#define WEIR_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace weir {

// Processes of one job speak the same version; Register refuses others.
inline constexpr uint32_t kProtocolVersion = 5;

// A call's payload is split so that neither request nor reply is expected to pass this. About 1 MiB is where gRPC is fastest.
inline constexpr size_t kCallBytesTarget = size_t{1} << 20;
// What a channel and a server accept; far above the target, because a row or a sample is never split.
inline constexpr size_t kMessageBytesMax = size_t{32} << 20;
static_assert(kCallBytesTarget * 8 <= kMessageBytesMax, "a call may overshoot its target by one row or sample");

inline constexpr uint32_t kFrameEntriesMax = uint32_t{1} << 26;  // numbers in one frame, kept or not
inline constexpr uint32_t kKeysPerTableCallMax = uint32_t{1} << 22;
inline constexpr uint32_t kPartsMax = 1024;
inline constexpr uint32_t kSamplesPerCallMax = uint32_t{1} << 20;
inline constexpr uint32_t kTablesMax = 16384;
inline constexpr uint32_t kDimMax = 4096;
inline constexpr uint32_t kShardsMax = 65536;
inline constexpr uint32_t kServersMax = 1024;
inline constexpr uint32_t kWorkersMax = 1024;
inline constexpr uint32_t kKeyStatusesMax = 100;                  // in one reply; the count is exact
inline constexpr uint32_t kTicketsPerWorkerMax = 64 * kPartsMax;  // lookups without their push yet
inline constexpr uint32_t kHeldRowsMax = 1u << 30;                // of one table, by one worker
inline constexpr uint32_t kStepsAheadMax = 64;                    // pushes buffered for steps that cannot be applied yet
inline constexpr size_t kLineBytesMax = size_t{1} << 20;          // of a data file
inline constexpr size_t kJobFileBytesMax = size_t{1} << 20;
inline constexpr size_t kValueBytesMax = size_t{64} << 10;  // of the rendezvous store
inline constexpr uint32_t kValuesMax = 1u << 20;

}  // namespace weir

#endif  // WEIR_BASE_LIMITS_H_
